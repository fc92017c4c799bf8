#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/result.h>
#include <sluice/time.h>

#include "base/key.h"
#include "base/owned_key.h"
#include "control/version.h"
#include "rules/glob.h"
#include "store/key_directory.h"
#include "store/memory/memory_store.h"

/// The interface of the admin API to the keys of the store.
namespace sluice::api {

/// Selects keys by their rule and by the first value that their budget is per.
struct KeySelector {
  std::string rule{};                 ///< An id; empty: any rule, and limits in requests.
  std::string prefix{};               ///< Literal bytes.
  std::string pattern{};              ///< Text of `glob`.
  std::optional<rules::Glob> glob{};  ///< For the whole value; not set: any.

  [[nodiscard]] bool Matches(const Key& key) const;
  [[nodiscard]] bool is_empty() const { return rule.empty() && prefix.empty() && !glob; }
};

struct ListedKey {
  OwnedKey key{};
  std::optional<store::SeenTimes> times{};  ///< Nothing: not known to this node.
};

struct KeyPage {
  std::vector<ListedKey> keys{};
  std::string cursor{};       ///< Of the next page; empty: this is the last.
  std::uint64_t scanned = 0;  ///< Keys that were looked at.
  bool complete = true;       ///< False: there may be live keys that no page lists.
};

struct KeyQuery {
  KeySelector selector{};
  std::string cursor{};
  std::size_t limit = 100;
};

/// A preview of a reset by selector, as far as a second of searching finds it.
struct ResetPreview {
  std::uint64_t count = 0;
  std::uint64_t scanned = 0;
  std::vector<OwnedKey> sample{};
  bool complete = true;  ///< False: there may be more.
};

enum class ResetState : std::uint8_t { kRunning, kDone, kCanceled, kFailed };
constexpr std::array<std::string_view, 4> LabelsOf(ResetState /*any*/) {
  return {"running", "done", "canceled", "failed"};
}

/// A reset by selector.
struct ResetJob {
  std::string id{};
  KeySelector selector{};
  control::Origin origin{};
  ResetState state = ResetState::kRunning;
  std::uint64_t scanned = 0;
  std::uint64_t matched = 0;
  std::uint64_t reset = 0;  ///< Keys that had something to forget.
  WallTime started{};
  std::optional<WallTime> ended{};
  std::string error{};   ///< Of kFailed.
  bool complete = true;  ///< False: keys that the node does not know by name were not reset.
};

/// A replica, as its primary sees it.
struct ReplicaReport {
  std::string address{};
  std::string state{};
  std::int64_t lag_bytes = 0;
  std::int64_t lag_seconds = 0;
};

/// One Redis server. Numbers that it did not answer, or may not, are not set.
struct RedisReport {
  std::string name{};
  std::string error{};  ///< Why it did not answer; empty: it did.
  std::string version{};
  std::string role{};
  std::optional<std::int64_t> keys{};
  std::optional<std::int64_t> used_bytes{};
  std::optional<std::int64_t> max_bytes{};
  std::optional<std::int64_t> operations_per_second{};
  std::optional<std::int64_t> evicted_keys{};
  std::optional<std::int64_t> slow_log_length{};
  std::optional<Micros> clock_ahead{};  ///< Of this node's clock.
  std::vector<ReplicaReport> replicas{};
};

struct StoreReport {
  std::optional<store::MemoryStoreStats> memory{};  ///< Set if limits live in memory.
  std::size_t named_keys = 0;                       ///< With memory: in the directory of names.
  std::vector<RedisReport> redis{};
};

/// The server's part of these requests. Thread-safe; its functions block, and run on worker
/// threads.
class KeyServices {
 public:
  virtual ~KeyServices() = default;

  virtual Result<KeyPage> ListKeys(const KeyQuery& query) = 0;
  virtual Result<ResetPreview> PreviewReset(const KeySelector& selector) = 0;
  /// Nothing: another job runs. `max_keys`: the job fails when it has matched so many.
  virtual std::optional<ResetJob> StartReset(const KeySelector& selector, std::uint64_t max_keys,
                                             const control::Origin& origin) = 0;
  /// The jobs of this node that are kept, the newest first.
  virtual std::vector<ResetJob> ListResets() = 0;
  virtual std::optional<ResetJob> FindReset(std::string_view id) = 0;
  /// The job stops soon; one that has ended stays as it is.
  virtual std::optional<ResetJob> CancelReset(std::string_view id) = 0;
  virtual StoreReport ReportStore() = 0;
};

using KeyTask = std::function<void(KeyServices& services)>;

}  // namespace sluice::api
