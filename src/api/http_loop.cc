#include "api/http_loop.h"

#include <utility>

#include "api/json_body.h"
#include "base/random.h"
#include "base/wide_math.h"

namespace sluice::api {

HttpLoop::HttpLoop(Host& host, const HttpOptions& options)
    : host_(host),
      options_(options),
      receipts_(options.receipt_secret),
      json_(std::make_unique<JsonBody>()),
      random_(RandomId()) {}

HttpLoop::~HttpLoop() = default;

std::unique_ptr<HttpCall> HttpLoop::Take() {
  if (spare_.empty()) return std::make_unique<HttpCall>(*this);
  std::unique_ptr<HttpCall> call = std::move(spare_.back());
  spare_.pop_back();
  return call;
}

void HttpLoop::GiveBack(std::unique_ptr<HttpCall> call) {
  if (call->is_large() || spare_.size() >= kMostSpare) return;
  call->Clear();
  spare_.push_back(std::move(call));
}

std::span<char> HttpLoop::Room(std::size_t size) {
  if (room_.size() < size) room_.resize(size);
  return room_;
}

Micros HttpLoop::Jitter(Micros wait) {
  if (options_.retry_after_jitter_percent <= 0) return Micros{0};
  // xorshift64: nobody gains anything by guessing it.
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  constexpr std::int64_t kParts = 1 << 16;
  const Wide most = Wide{wait.count()} * options_.retry_after_jitter_percent / 100;
  return Micros{
      static_cast<std::int64_t>(most * static_cast<std::int64_t>(random_ % kParts) / kParts)};
}

}  // namespace sluice::api
