#include "limiter/question.h"

namespace sluice::limiter {

void Question::Clear() {
  operation = store::Operation::kCheck;
  cost = 1;
  slot = 0;
  patience = Micros{0};
  bytes_.clear();
  pieces_.clear();
  own_.clear();
  hold_ = nullptr;
}

void Question::Add(std::string_view name, std::string_view value) {
  const Piece kept_name = Keep(name);
  pieces_.emplace_back(kept_name, Keep(value));
}

void Question::AddLimit(const Key& key, const Limit& limit, std::int64_t limit_cost, Mode mode) {
  AddLimit(key, limit, limit_cost, Terms{.mode = mode});
}

void Question::AddMet(const rules::MetLimit& met, const Terms& terms) {
  AddLimit(met.key, met.limit->limit, met.cost, terms);
  own_.back().rule = met.rule;
  own_.back().named = met.limit;
}

void Question::AddLimit(const Key& key, const Limit& limit, std::int64_t limit_cost,
                        const Terms& terms) {
  const Piece scope = Keep(key.scope);
  const Piece tag = Keep(key.tag);
  const Piece rest = Keep(key.rest);
  own_.push_back({scope, tag, rest, limit, limit_cost, terms});
}

std::optional<std::string_view> Question::Find(std::string_view attribute) const {
  for (const auto& [name, value] : pieces_) {
    if (Text(name) == attribute) return Text(value);
  }
  return std::nullopt;
}

Question::Piece Question::Keep(std::string_view bytes) {
  const Piece piece{bytes_.size(), bytes.size()};
  bytes_ += bytes;
  return piece;
}

rules::Attributes Question::GatherAttributes() {
  attributes_.clear();
  for (const auto& [name, value] : pieces_) attributes_.push_back({Text(name), Text(value)});
  return attributes_;
}

void Question::MakeRoomForInspections() {
  inspections_.assign(uses_.size(), {});
  for (std::size_t i = 0; i < uses_.size(); ++i) uses_[i].inspection = &inspections_[i];
}

}  // namespace sluice::limiter
