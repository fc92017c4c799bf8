#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/call_session.h"
#include "api/receipt_text.h"
#include "api/resp/commands.h"
#include "api/resp/throttle.h"
#include "api/server_services.h"
#include "transport/session.h"

namespace sluice::api {

class RespLoop;

/// The call that one command makes: of one check, or the settlement of a receipt.
struct RespCall final : CheckCall {
  explicit RespCall(RespLoop& its_loop) : loop(its_loop) {}

  void GiveBack() override;
  [[nodiscard]] bool is_large() const override { return is_long; }

  RespLoop& loop;
  const RespCommand* command = nullptr;
  std::string work_reply;  ///< Of work.
  bool is_long = false;
};

/// State shared by the RESP sessions of one loop; used on that loop's thread only. Must outlive
/// its sessions, and whatever a store has not answered yet.
class RespLoop {
 public:
  /// `max_pending`: requests of one session that may wait for a store.
  explicit RespLoop(ServerServices& services,
                    std::size_t max_pending = transport::kDefaultMaxPending,
                    const RequestLimitBounds& bounds = {},
                    envoy::NegativeHits negative_hits = envoy::NegativeHits::kEnvoyDomains,
                    const ReceiptOptions& receipts = {})
      : services_(services),
        max_pending_(max_pending),
        throttle_limits_(bounds, negative_hits),
        receipts_(receipts.secret, receipts.lifetime),
        max_settled_per_key_(receipts.max_settled_per_key),
        batch_(services, Protocol::kResp) {}
  RespLoop(const RespLoop&) = delete;
  RespLoop& operator=(const RespLoop&) = delete;

  [[nodiscard]] ServerServices& services() { return services_; }
  [[nodiscard]] std::size_t max_pending() const { return max_pending_; }
  [[nodiscard]] ThrottleLimits& throttle_limits() { return throttle_limits_; }
  [[nodiscard]] ReceiptSigner& receipts() { return receipts_; }
  [[nodiscard]] std::uint32_t max_settled_per_key() const { return max_settled_per_key_; }
  [[nodiscard]] CheckBatch& batch() { return batch_; }

  /// An empty call. It is given back for the next command.
  [[nodiscard]] std::unique_ptr<RespCall> Take() { return calls_.Take(*this); }
  void GiveBack(std::unique_ptr<RespCall> call) { calls_.GiveBack(std::move(call)); }

  /// A command's arguments with its keys as they may be stored; good until it is asked again.
  [[nodiscard]] RespArguments Shown(const RespCommand& command, RespArguments arguments);

  /// Room for the reply to a command that asks nothing, while those before it are asked.
  [[nodiscard]] std::string& refusal() { return refusal_; }

 private:
  ServerServices& services_;
  const std::size_t max_pending_;
  ThrottleLimits throttle_limits_;
  ReceiptSigner receipts_;
  const std::uint32_t max_settled_per_key_;
  CheckBatch batch_;
  CallPool<RespCall> calls_;
  std::vector<std::string_view> shown_;
  std::vector<identity::KeyDigest::Buffer> rooms_;
  std::string refusal_;
};

}  // namespace sluice::api
