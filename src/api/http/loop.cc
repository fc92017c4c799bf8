#include "api/http/loop.h"

#include "api/http/json_body.h"
#include "base/random.h"
#include "base/wide_math.h"

namespace sluice::api {

HttpLoop::HttpLoop(ServerServices& services, const HttpOptions& options)
    : services_(services),
      options_(options),
      receipts_(options.receipt_secret, options.receipt_lifetime),
      browser_sessions_(options.receipt_secret),
      denial_ids_(options.receipt_secret),
      json_(std::make_unique<JsonBody>()),
      limits_(options.request_limits),
      batch_(services, Protocol::kHttp),
      random_(RandomId()) {
  denial_id_.reserve(DenialIds::kTextBytes);
}

HttpLoop::~HttpLoop() = default;

std::span<char> HttpLoop::Room(std::size_t size) {
  if (room_.size() < size) room_.resize(size);
  return room_;
}

std::string_view HttpLoop::DenialIdOf(const limiter::CheckRequest& check) {
  denial_id_.clear();
  const bool is_sent = options_.denial_id_in_body || options_.denial_id_in_header;
  if (!is_sent || !IsDeniedByLimit(check)) return {};
  const RulesMark rules = services_.rules_mark();
  const auto record = RecordOf(Protocol::kHttp, check, services_.now(), rules.number);
  denial_ids_.Append(FactsOf(record, rules.fingerprint), denial_id_);
  return denial_id_;
}

Micros HttpLoop::Jitter(Micros wait) {
  if (options_.retry_after_jitter_percent <= 0) return Micros{0};
  // xorshift64: predicting it gains a client nothing.
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  constexpr std::int64_t kParts = 1 << 16;
  const Wide most = Wide{wait.count()} * options_.retry_after_jitter_percent / 100;
  return Micros{
      static_cast<std::int64_t>(most * static_cast<std::int64_t>(random_ % kParts) / kParts)};
}

}  // namespace sluice::api
