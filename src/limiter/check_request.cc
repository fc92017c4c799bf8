#include "limiter/check_request.h"

namespace sluice::limiter {

void CheckRequest::Clear() {
  operation = store::Operation::kCheck;
  cost = 1;
  slot = 0;
  grant_expires = {};
  only_rule.clear();
  timeout = Micros{0};
  trace = {};
  bytes_.clear();
  pieces_.clear();
  own_.clear();
  amounts_.clear();
  is_by_quantity_ = false;
  snapshot_.Reset();
  entry_ = nullptr;
  entries_.Reset();
}

void CheckRequest::Add(std::string_view name, std::string_view value) {
  const Piece kept_name = Keep(name);
  pieces_.emplace_back(kept_name, Keep(value));
}

void CheckRequest::AddQuantity(std::string_view name, std::int64_t amount) {
  is_by_quantity_ = true;
  amounts_.emplace_back(Keep(name), amount);
}

std::span<const UsedQuantity> CheckRequest::GatherQuantities() {
  quantities_.clear();
  for (const auto& [name, amount] : amounts_) quantities_.push_back({Text(name), amount});
  return quantities_;
}

void CheckRequest::AddLimit(const Key& key, const Limit& limit, std::int64_t limit_cost,
                            Mode mode) {
  AddLimit(key, limit, limit_cost, Terms{.mode = mode});
}

void CheckRequest::AddMatched(const match::MatchedLimit& matched, const Terms& terms) {
  AddLimit(matched.key, matched.limit->limit, matched.cost, terms);
  own_.back().of_rule = true;
  own_.back().rule = matched.rule;
  own_.back().named = matched.limit;
}

void CheckRequest::AddLimit(const Key& key, const Limit& limit, std::int64_t limit_cost,
                            const Terms& terms) {
  const Piece scope = Keep(key.scope);
  const Piece tag = Keep(key.tag);
  const Piece rest = Keep(key.rest);
  own_.push_back({scope, tag, rest, limit, limit_cost, terms});
}

std::optional<std::string_view> CheckRequest::Find(std::string_view attribute) const {
  for (const auto& [name, value] : pieces_) {
    if (Text(name) == attribute) return Text(value);
  }
  return std::nullopt;
}

CheckRequest::Piece CheckRequest::Keep(std::string_view bytes) {
  const Piece piece{bytes_.size(), bytes.size()};
  bytes_ += bytes;
  return piece;
}

match::Attributes CheckRequest::GatherAttributes() {
  attributes_.clear();
  for (const auto& [name, value] : pieces_) attributes_.push_back({Text(name), Text(value)});
  return attributes_;
}

void CheckRequest::MakeRoomForInspections() {
  inspections_.assign(uses_.size(), {});
  for (std::size_t i = 0; i < uses_.size(); ++i) uses_[i].inspection = &inspections_[i];
}

}  // namespace sluice::limiter
