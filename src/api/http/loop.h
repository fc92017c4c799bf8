#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/admin/browser_session.h"
#include "api/call_session.h"
#include "api/denial_id.h"
#include "api/http/call.h"
#include "api/http/options.h"
#include "api/limit_cache.h"
#include "api/receipt_text.h"
#include "api/server_services.h"
#include "identity/caller.h"

namespace sluice::api {

class JsonBody;

/// State shared by the HTTP sessions of one loop; used on that loop's thread only. Must outlive its
/// sessions, and whatever a store has not answered yet.
class HttpLoop {
 public:
  HttpLoop(ServerServices& services, const HttpOptions& options);
  ~HttpLoop();
  HttpLoop(const HttpLoop&) = delete;
  HttpLoop& operator=(const HttpLoop&) = delete;

  [[nodiscard]] ServerServices& services() { return services_; }
  [[nodiscard]] const HttpOptions& options() const { return options_; }
  [[nodiscard]] ReceiptSigner& receipts() { return receipts_; }
  [[nodiscard]] const BrowserSessions& browser_sessions() const { return browser_sessions_; }
  /// Returns the id of a check that a limit denied; empty for others, and if no response has it.
  /// Valid until the next call.
  [[nodiscard]] std::string_view DenialIdOf(const limiter::CheckRequest& check);
  [[nodiscard]] JsonBody& json() { return *json_; }
  /// Cache of the limits in requests.
  [[nodiscard]] LimitCache& limits() { return limits_; }
  [[nodiscard]] CheckBatch& batch() { return batch_; }

  /// An empty call. It is given back for the next request.
  [[nodiscard]] std::unique_ptr<HttpCall> Take() { return calls_.Take(*this); }
  void GiveBack(std::unique_ptr<HttpCall> call) { calls_.GiveBack(std::move(call)); }

  /// Buffer for the response to a request that makes no check, while those before it wait in the
  /// batch. Empty while no session runs.
  [[nodiscard]] std::string& response_buffer() { return response_buffer_; }

  /// Room for what is decoded of a text of this size; good until it is asked for again.
  [[nodiscard]] std::span<char> Room(std::size_t size);

  /// Buffer for the attributes of a query; good until it is asked for again.
  [[nodiscard]] std::vector<Attribute>& attributes() { return attributes_; }

  /// Room for who calls; good until it is asked for again.
  [[nodiscard]] identity::Caller& caller() { return caller_; }

  /// Returns the form of a key that may be stored and shown; valid until the next call.
  [[nodiscard]] std::string_view Shown(std::string_view key) {
    const identity::Identifier& identifier = services_.identifier();
    return identifier.hashes_keys() ? identifier.ShownKey(key, shown_) : key;
  }

  /// Returns the random time that is added to the wait of a denied client.
  [[nodiscard]] Micros Jitter(Micros wait);

 private:
  ServerServices& services_;
  const HttpOptions options_;
  ReceiptSigner receipts_;
  const BrowserSessions browser_sessions_;
  const DenialIds denial_ids_;
  std::string denial_id_;
  std::unique_ptr<JsonBody> json_;
  LimitCache limits_;
  CheckBatch batch_;
  CallPool<HttpCall> calls_;
  std::string response_buffer_;
  std::vector<char> room_;
  std::vector<Attribute> attributes_;
  identity::Caller caller_;
  identity::KeyDigest::Buffer shown_{};
  std::uint64_t random_;
};

}  // namespace sluice::api
