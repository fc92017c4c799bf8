#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "api/host.h"
#include "api/http_call.h"
#include "api/http_options.h"
#include "api/limit_cache.h"
#include "api/receipt_text.h"
#include "identity/caller.h"
#include "wire/reply_queue.h"

namespace sluice::api {

class JsonBody;

/// What the HTTP sessions of one loop share. On that loop's thread only. It must outlive its
/// sessions, and whatever a store has not answered yet.
class HttpLoop {
 public:
  HttpLoop(Host& host, const HttpOptions& options);
  ~HttpLoop();
  HttpLoop(const HttpLoop&) = delete;
  HttpLoop& operator=(const HttpLoop&) = delete;

  [[nodiscard]] Host& host() { return host_; }
  [[nodiscard]] const HttpOptions& options() const { return options_; }
  [[nodiscard]] ReceiptSigner& receipts() { return receipts_; }
  [[nodiscard]] JsonBody& json() { return *json_; }
  /// Those that requests have brought.
  [[nodiscard]] LimitCache& limits() { return limits_; }
  [[nodiscard]] wire::ReplyPlaces& places() { return places_; }

  /// A call that asks nothing yet. Whoever is done with it gives it back, for the next request.
  [[nodiscard]] std::unique_ptr<HttpCall> Take();
  void GiveBack(std::unique_ptr<HttpCall> call);

  /// Room for what is decoded of a text of this size; good until it is asked for again.
  [[nodiscard]] std::span<char> Room(std::size_t size);

  /// Room for who calls; good until it is asked for again.
  [[nodiscard]] identity::Caller& caller() { return caller_; }

  /// What may be stored and shown of a key that a request names; good until it is asked again.
  [[nodiscard]] std::string_view Shown(std::string_view key) {
    const identity::Identifier& identifier = host_.identifier();
    return identifier.hashes_keys() ? identifier.ShownKey(key, shown_) : key;
  }

  /// How much longer a denied client is told to wait than it must.
  [[nodiscard]] Micros Jitter(Micros wait);

 private:
  static constexpr std::size_t kMostSpare = 1024;

  Host& host_;
  const HttpOptions options_;
  ReceiptSigner receipts_;
  std::unique_ptr<JsonBody> json_;
  LimitCache limits_;
  wire::ReplyPlaces places_;
  std::vector<std::unique_ptr<HttpCall>> spare_;
  std::vector<char> room_;
  identity::Caller caller_;
  identity::KeyDigest::Room shown_{};
  std::uint64_t random_;
};

}  // namespace sluice::api
