#include "rules/live_rules.h"

#include <algorithm>
#include <utility>

#include "rules/fingerprint.h"
#include "rules/reader.h"
#include "rules/rule_set.h"

namespace sluice::rules {

LiveRules::~LiveRules() = default;

LoadReport LiveRules::Load(const std::string& name, std::string_view yaml, WallTime now) {
  const std::lock_guard loading(loading_);
  std::string fingerprint = Fingerprint(yaml);
  {
    const std::lock_guard lock(mutex_);
    if (!versions_.empty() && versions_.back().fingerprint == fingerprint) {
      status_.last_good_load = now;
      status_.failing = false;
      ++status_.good_loads;
      return {.outcome = LoadOutcome::kUnchanged,
              .version = versions_.back().number,
              .mistakes = {},
              .warnings = {}};
    }
  }
  ReadResult read = Read(name, yaml);
  if (!read.file) return Refuse(std::move(read.mistakes), now);
  if (prepare_) prepare_(*read.file);
  RulesVersion version{.number = 0,
                       .fingerprint = std::move(fingerprint),
                       .file = name,
                       .since = now,
                       .restores = 0,
                       .rules = RuleSet::Compile(std::move(*read.file))};
  std::optional<RulesVersion> dropped;  // Destroyed after the lock is given back.
  const std::lock_guard lock(mutex_);
  dropped = Activate(std::move(version));
  status_.last_good_load = now;
  status_.failing = false;
  ++status_.good_loads;
  return {.outcome = LoadOutcome::kActivated,
          .version = last_number_,
          .mistakes = {},
          .warnings = std::move(read.warnings)};
}

LoadReport LiveRules::Load(const FileChange& change, WallTime now) {
  if (change.content) return Load(change.path, *change.content, now);
  const std::lock_guard loading(loading_);
  return Refuse(
      {Mistake{.file = change.path, .position = {}, .field = {}, .message = change.error}}, now);
}

LoadReport LiveRules::Refuse(std::vector<Mistake> mistakes, WallTime now) {
  const std::lock_guard lock(mutex_);
  status_.last_error = mistakes;
  status_.last_error_at = now;
  status_.failing = true;
  ++status_.failed_loads;
  return {.outcome = LoadOutcome::kRefused,
          .version = versions_.empty() ? 0 : versions_.back().number,
          .mistakes = std::move(mistakes),
          .warnings = {}};
}

// The caller holds `mutex_`.
std::optional<RulesVersion> LiveRules::Activate(RulesVersion version) {
  version.number = ++last_number_;
  versions_.push_back(std::move(version));
  // Release: whoever sees the number also finds the rules. They look under the lock anyway.
  generation_.store(last_number_, std::memory_order_release);
  if (versions_.size() <= keep_ + 1) return std::nullopt;
  std::optional<RulesVersion> oldest = std::move(versions_.front());
  versions_.pop_front();
  return oldest;
}

std::optional<std::uint64_t> LiveRules::Rollback(std::uint64_t version, WallTime now) {
  const std::lock_guard loading(loading_);
  std::optional<RulesVersion> dropped;
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(versions_.begin(), versions_.end(),
                                  [&](const RulesVersion& kept) { return kept.number == version; });
  if (found == versions_.end()) return std::nullopt;
  if (found->fingerprint == versions_.back().fingerprint) return versions_.back().number;
  RulesVersion again = *found;
  again.since = now;
  again.restores = version;
  dropped = Activate(std::move(again));
  return last_number_;
}

RulesStatus LiveRules::Status() const {
  const std::lock_guard lock(mutex_);
  RulesStatus status = status_;
  if (!versions_.empty()) status.active = versions_.back();
  return status;
}

std::vector<RulesVersion> LiveRules::Versions() const {
  const std::lock_guard lock(mutex_);
  return {versions_.begin(), versions_.end()};
}

std::shared_ptr<const RuleSet> LiveRules::Active() const {
  const std::lock_guard lock(mutex_);
  return versions_.empty() ? nullptr : versions_.back().rules;
}

void RulesReader::Refresh() {
  std::shared_ptr<const RuleSet> old;  // Destroyed, if need be, after the lock is given back.
  const std::lock_guard lock(live_->mutex_);
  old = std::exchange(rules_, live_->versions_.back().rules);
  generation_ = live_->versions_.back().number;
}

}  // namespace sluice::rules
