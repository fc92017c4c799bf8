#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/time.h>

#include "rules/file_watcher.h"
#include "rules/mistake.h"

namespace sluice::rules {

class RuleSet;
struct RuleFile;

/// Rules that were active once, or are.
struct RulesVersion {
  std::uint64_t number = 0;  ///< 1, 2, …; never used twice.
  std::string fingerprint;   ///< SHA-256 of the file, as sha256sum prints it.
  std::string file;
  WallTime since{};            ///< When it became active.
  std::uint64_t restores = 0;  ///< The version that a rollback took the content from, or 0.
  std::shared_ptr<const RuleSet> rules;
};

/// What can be asked about the rules of a process.
struct RulesStatus {
  RulesVersion active;              ///< Number 0: there are none yet.
  WallTime last_good_load{};        ///< Also of content that was active already.
  std::vector<Mistake> last_error;  ///< All mistakes of the last load that failed; empty: none did.
  WallTime last_error_at{};
  bool failing = false;  ///< The last load failed: what is active is not what the file says.
  std::uint64_t good_loads = 0;
  std::uint64_t failed_loads = 0;
};

enum class LoadOutcome : std::uint8_t {
  kActivated,
  kUnchanged,  ///< The content is that of the active version.
  kRefused,    ///< The old rules stay.
};

struct LoadReport {
  LoadOutcome outcome = LoadOutcome::kRefused;
  std::uint64_t version = 0;  ///< The active one, afterwards.
  std::vector<Mistake> mistakes;
  std::vector<Mistake> warnings;
};

/// The rules in force. New ones replace them whole, between two checks. Thread-safe: loads wait for
/// each other, readers (RulesReader) never wait for a load.
///
/// A RuleSet lives as long as somebody holds it. The last versions are held here, so that it is
/// seldom a reader who has to destroy one.
class LiveRules {
 public:
  /// Looks at rules that were found right before they are compiled, and may number their limits.
  using Prepare = std::function<void(RuleFile&)>;

  /// Keeps so many versions before the active one.
  explicit LiveRules(std::size_t keep = 10, Prepare prepare = {})
      : keep_(keep), prepare_(std::move(prepare)) {}
  ~LiveRules();
  LiveRules(const LiveRules&) = delete;
  LiveRules& operator=(const LiveRules&) = delete;

  /// Reads and compiles the text of a rule file, and makes it the rules in force. `name` is for
  /// messages.
  LoadReport Load(const std::string& name, std::string_view yaml, WallTime now);
  /// The same with what a watcher told. A file that can't be read is a failed load.
  LoadReport Load(const FileChange& change, WallTime now);

  /// Makes the content of a version that is still kept active again, as a new version, until
  /// another load brings other content. Returns its number, or that of the active version if that
  /// has the content already; nothing if there is no such version.
  std::optional<std::uint64_t> Rollback(std::uint64_t version, WallTime now);

  [[nodiscard]] RulesStatus Status() const;
  /// Those that are kept and the active one, which is the last.
  [[nodiscard]] std::vector<RulesVersion> Versions() const;
  /// Null if there are none yet.
  [[nodiscard]] std::shared_ptr<const RuleSet> Active() const;

 private:
  friend class RulesReader;

  LoadReport Refuse(std::vector<Mistake> mistakes, WallTime now);
  /// Returns the version that is not kept any longer.
  std::optional<RulesVersion> Activate(RulesVersion version);

  const std::size_t keep_;
  const Prepare prepare_;
  std::mutex loading_;                 ///< One load at a time. Taken before `mutex_`.
  mutable std::mutex mutex_;           ///< Of all that follows; never held for long.
  std::deque<RulesVersion> versions_;  ///< The active one is the last.
  std::uint64_t last_number_ = 0;
  RulesStatus status_;                        ///< Without `active`.
  std::atomic<std::uint64_t> generation_{0};  ///< The number of the active version.
};

/// One thread's view of the rules in force: one atomic load for each use, and a lock only after the
/// rules have changed. Each thread has its own; the LiveRules must outlive it.
///
///     RulesReader rules(live);          // once, in each thread
///     rules.Get()->Find(attributes, cost, match);
class RulesReader {
 public:
  explicit RulesReader(const LiveRules& live) : live_(&live) {}

  /// Null if there are none yet. Good until the next Get; between the two calls the rules don't
  /// change under the caller.
  const RuleSet* Get() {
    // Acquire is enough: what a new number stands for is read under the lock.
    if (live_->generation_.load(std::memory_order_acquire) != generation_) Refresh();
    return rules_.get();
  }
  /// What the last Get gave, to be held for longer, as by a call that waits for a store.
  [[nodiscard]] const std::shared_ptr<const RuleSet>& held() const { return rules_; }
  /// The version that the last Get gave.
  [[nodiscard]] std::uint64_t version() const { return generation_; }

 private:
  void Refresh();

  const LiveRules* live_;
  std::uint64_t generation_ = 0;
  std::shared_ptr<const RuleSet> rules_;
};

}  // namespace sluice::rules
