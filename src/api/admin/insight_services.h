#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/admin/denial_json.h"
#include "identity/principal.h"
#include "telemetry/insight_state.h"

namespace sluice::api {

/// The collected data that tasks read, on the collecting thread.
struct InsightReader {
  const telemetry::InsightState& state;
  DenialWriter& denials;
};

/// The earlier denials with which a viewer begins.
struct DenialReplay {
  std::size_t most = 0;     ///< The newest so many,
  std::uint64_t after = 0;  ///< and only those after this sequence number.
};

/// Denials for one viewer since the last batch.
struct DenialBatch {
  std::vector<std::pair<std::uint64_t, std::string>> denials{};  ///< Sequence number and JSON.
  std::uint64_t dropped = 0;  ///< Others that it does not get, because there were too many.
};

/// One viewer of the denials of this node. Destroying it ends the subscription; on its loop only.
class DenialSubscription {
 public:
  virtual ~DenialSubscription() = default;
};

/// Interface of the server for reports about recent calls. One object for each event loop, used on
/// that loop's thread only. The server implements it (server/insight.h).
class InsightServices {
 public:
  virtual ~InsightServices() = default;

  /// Runs `task` on the collecting thread, then `done` in a later turn of this loop. Returns false
  /// if too many tasks wait; neither runs then, or if the server stops first.
  virtual bool Run(std::function<void(InsightReader& reader)> task, std::function<void()> done) = 0;

  /// Calls `deliver` on this loop with denials as they happen, beginning with some of the ring. A
  /// batch that is not delivered yet holds back the next: denials are dropped
  /// meanwhile. Null: there are as many viewers as may be.
  virtual std::unique_ptr<DenialSubscription> Watch(
      DenialFilter filter, identity::Principal principal, DenialReplay replay,
      std::function<void(const DenialBatch& batch)> deliver) = 0;
};

}  // namespace sluice::api
