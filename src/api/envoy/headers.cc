#include <algorithm>
#include <array>
#include <charconv>

#include "answer/http_answer.h"
#include "answer/rate_limit_headers.h"
#include "api/envoy/check.h"

namespace sluice::api {

EnvoyHeaders& EnvoyHeaders::Add(std::string_view name, std::string_view value) {
  pieces_.push_back({bytes_.size(), name.size(), value.size()});
  bytes_.append(name).append(value);
  return *this;
}

EnvoyHeaders& EnvoyHeaders::Add(std::string_view name, std::int64_t value) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  return Add(name, {digits.data(), end});
}

void EnvoyHeaders::Clear() {
  bytes_.clear();
  pieces_.clear();
}

std::string_view EnvoyHeaders::name(std::size_t i) const {
  return std::string_view(bytes_).substr(pieces_[i].begin, pieces_[i].name_size);
}

std::string_view EnvoyHeaders::value(std::size_t i) const {
  return std::string_view(bytes_).substr(pieces_[i].begin + pieces_[i].name_size,
                                         pieces_[i].value_size);
}

// The call is admitted when the last block of its descriptors ends.
void EnvoyCheck::AddEndOfBlock() {
  Micros rest{0};
  for (const Row& row : rows_) {
    if (row.block_rest < Micros{0}) return;
    rest = std::max(rest, row.block_rest);
  }
  if (rest > Micros{0}) headers_.Add("Retry-After", SecondsOf(rest));
}

const EnvoyHeaders& EnvoyCheck::MakeHeaders(const limiter::CheckRequest* check) {
  headers_.Clear();
  const EnvoyOptions& options = state_->options();
  if (!options.ratelimit_headers) {
    if (check != nullptr && options.header_style != HeaderStyle::kNone) {
      AddRateLimitHeaders(*check, now_, options.header_style, Micros{0}, headers_);
    }
    if (options.header_style != HeaderStyle::kNone) AddEndOfBlock();
    return headers_;
  }
  AddEndOfBlock();
  // Of the descriptor that is over its limit, else of the one that is nearest to it.
  std::optional<EnvoyStatus> chosen;
  for (std::size_t i = 0; i < size(); ++i) {
    const EnvoyStatus status = StatusOf(i);
    if (!status.has_limit) continue;
    const bool is_over = status.code == EnvoyCode::kOverLimit;
    const bool chosen_is_over = chosen && chosen->code == EnvoyCode::kOverLimit;
    if (chosen &&
        (is_over == chosen_is_over ? status.remaining >= chosen->remaining : chosen_is_over)) {
      continue;
    }
    chosen = status;
  }
  if (chosen) {
    headers_.Add("RateLimit-Limit", std::int64_t{chosen->requests_per_unit})
        .Add("RateLimit-Remaining", std::int64_t{chosen->remaining})
        .Add("RateLimit-Reset", chosen->reset_seconds);
  }
  return headers_;
}

}  // namespace sluice::api
