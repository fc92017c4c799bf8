#include "control/rule_sync.h"

#include <algorithm>
#include <utility>

#include "base/random.h"

namespace sluice::control {
namespace {

std::string NameForPeople(const VersionRef& ref) {
  return ref.id.number == 0 ? "the rule file" : "version " + ToText(ref.id);
}

}  // namespace

void PropagationTimes::Add(Micros time) {
  time = std::max(time, Micros(0));  // Clocks of nodes differ a little.
  const auto bound = std::ranges::lower_bound(kBounds, time);
  ++counts[static_cast<std::size_t>(bound - kBounds.begin())];
  sum += time;
  last = time;
}

RuleSync::RuleSync(ControlStore& store, LastGoodCopy* copy, SyncOptions options, SyncHooks hooks)
    : store_(store),
      copy_(copy),
      options_(std::move(options)),
      hooks_(std::move(hooks)),
      settled_(!options_.follow_rules),
      records_(
          store, copy, options_.node.id, options_.node.address,
          {.on_changes = hooks_.on_records,
           .on_event =
               [this](const SyncEvent& event) {
                 if (hooks_.on_event) hooks_.on_event(event);
               },
           .random = [this] { return Random(); },
           .wall_now =
               [this] { return hooks_.wall_now ? hooks_.wall_now() : TheSystemClock().Now(); }}) {}

SteadyTime RuleSync::Step(SteadyTime now) {
  const SteadyTime next = Synchronize(now);
  if (active_) settled_ = true;
  const std::lock_guard lock(mutex_);
  stats_.origin = origin_;
  stats_.active = active_ && origin_ != RulesOrigin::kSeed ? active_->info.ref : VersionRef{};
  stats_.rejected = rejected_;
  stats_.rejected_error = rejected_error_;
  return next;
}

SteadyTime RuleSync::Synchronize(SteadyTime now) {
  const auto head = store_.ReadHead();
  if (!head) {
    const SteadyTime next = OnReadFailure(head.error(), now);
    return std::min(next, records_.StepWithoutStore(now).value_or(next));
  }
  // Records first: they never wait until a large version is compiled.
  const auto records_due = records_.Step(*head, now);
  const SteadyTime next = SynchronizeRules(head->version, now);
  Publish();
  return std::min(next, records_due.value_or(next));
}

SteadyTime RuleSync::SynchronizeRules(const std::optional<VersionRef>& found, SteadyTime now) {
  SteadyTime next = NextRead(now);
  if (!options_.follow_rules) {
    CountRead({}, now);
  } else if (found && (!followed_ || found->id > followed_->id)) {
    Take(*found, now);
  } else if (found && found == followed_) {
    CountRead({}, now);
    lost_since_.reset();
  } else {
    CountRead({}, now);
    next = HandleLoss(found, now);
  }
  return next;
}

SteadyTime RuleSync::OnReadFailure(const Error& error, SteadyTime now) {
  CountRead(error, now);
  if (options_.follow_rules && !active_) LoadCopy();
  if (options_.follow_rules && !active_) LoadSeed();
  settled_ = true;
  return NextRead(now);
}

// Returns whether the version could be read, usable or not.
bool RuleSync::Take(const VersionRef& ref, SteadyTime now) {
  auto version = store_.ReadVersion(ref.id);
  std::optional<Error> error;
  if (!version) {
    error = version.error();
  } else if (!*version || (*version)->info.ref != ref) {
    error = Error{ErrorCode::kStoreError, "version " + ToText(ref.id) + " is not in the store"};
  }
  if (error) {
    OnReadFailure(*error, now);
    return false;
  }
  CountRead({}, now);
  const bool is_first = !followed_;
  const bool was_lost = lost_since_.has_value();
  followed_ = ref;
  lost_since_.reset();
  const Version& taken = **version;
  if (Activate(taken, RulesOrigin::kStore)) {
    if (!is_first && !was_lost) {
      const std::lock_guard lock(mutex_);
      stats_.propagation.Add(active_since_ - taken.info.time);
    }
    SaveCopy();
  } else if (!active_) {
    LoadCopy();
    settled_ = true;
  }
  if (options_.seed && !std::exchange(seed_reported_, true)) {
    Report(SyncEventKind::kSeedIgnored, ref,
           "the store has version " + ToText(ref.id) + ": the rule file is ignored");
  }
  return true;
}

bool RuleSync::Activate(const Version& version, RulesOrigin origin) {
  const VersionRef& ref = version.info.ref;
  const LoadReport report = hooks_.activate(version);
  if (!report.activated) {
    rejected_ = ref;
    rejected_error_ = report.error;
    Report(SyncEventKind::kRejected, ref,
           NameForPeople(ref) + " can't be used, keeping " +
               (active_ ? NameForPeople(active_->info.ref) : std::string("no rules")) + ": " +
               report.error);
    return false;
  }
  active_since_ = version.info.time;
  if (origin == RulesOrigin::kStore) {
    if (const auto now = store_.Now()) active_since_ = *now;
  }
  active_ = version;
  origin_ = origin;
  if (origin == RulesOrigin::kStore) {
    rejected_ = {};
    rejected_error_.clear();
  }
  Report(SyncEventKind::kActivated, ref, NameForPeople(ref) + " is active");
  return true;
}

void RuleSync::LoadCopy() {
  if (copy_ == nullptr || std::exchange(copy_loaded_, true)) return;
  auto copy = copy_->Load();
  if (!copy) return Report(SyncEventKind::kCopyFailed, {}, copy.error().message);
  if (!*copy) return;
  // A rejected version of the store stays known as such.
  const VersionRef rejected = rejected_;
  const std::string error = rejected_error_;
  Activate(**copy, RulesOrigin::kLastGood);
  if (rejected.id.number != 0) {
    rejected_ = rejected;
    rejected_error_ = error;
  }
}

void RuleSync::LoadSeed() {
  if (!options_.seed || !rejected_error_.empty()) return;
  Activate(MakeVersion({}, *options_.seed, {.source = VersionSource::kSeed}), RulesOrigin::kSeed);
}

SteadyTime RuleSync::HandleLoss(const std::optional<VersionRef>& found, SteadyTime now) {
  if (found && (!active_ || IsLaterCommit(*found))) {
    followed_.reset();
    return now;
  }
  if (!lost_since_) {
    lost_since_ = now;
    if (followed_) {
      Report(SyncEventKind::kVersionsLost, *followed_,
             "the store has lost version " + ToText(followed_->id) + " and is at " +
                 (found ? ToText(found->id) : std::string("no version")) +
                 ", keeping the rules in use");
    }
  }
  if (!active_) LoadCopy();
  if (now < *lost_since_ + kRestoreWait) return *lost_since_ + kRestoreWait;
  const Candidate candidate = FindCandidate();
  settled_ = settled_ || candidate == Candidate::kNone;
  if (candidate == Candidate::kNone) return NextRead(now);
  const auto ours = IsOurTurn(candidate);
  if (!ours) return OnReadFailure(ours.error(), now);
  return *ours ? Restore(candidate, found, now) : NextRead(now);
}

// Whether the store's version has the number of the one that was followed, but is another one that
// was committed later: after a failover that lost the first one. The author of the second expects
// it to be in force.
bool RuleSync::IsLaterCommit(const VersionRef& found) {
  if (!followed_ || found.id != followed_->id || active_->info.ref != *followed_) return false;
  const auto version = store_.ReadVersion(found.id);
  if (!version || !*version) return false;
  const VersionInfo& info = (*version)->info;
  const bool by_author =
      info.source == VersionSource::kApi || info.source == VersionSource::kRestored;
  return by_author && info.time > active_->info.time;
}

RuleSync::Candidate RuleSync::FindCandidate() const {
  if (active_ && origin_ == RulesOrigin::kStore) return Candidate::kFollowed;
  if (active_ && origin_ == RulesOrigin::kLastGood) return Candidate::kCopy;
  return options_.seed ? Candidate::kSeed : Candidate::kNone;
}

// Whether no live node has rules that should rather be restored: later ones, or for a copy, any
// that were followed; for a seed, any at all.
Result<bool> RuleSync::IsOurTurn(Candidate candidate) {
  const auto nodes = store_.ListNodes();
  if (!nodes) return nodes.error();
  const auto now = store_.Now();
  if (!now) return now.error();
  for (const NodeRecord& node : *nodes) {
    if (node.id == options_.node.id || node.active.id.number == 0 ||
        *now - node.last_seen > kNodeTimeout) {
      continue;
    }
    const bool later = candidate == Candidate::kSeed || node.active.id > active_->info.ref.id;
    if (candidate == Candidate::kFollowed ? later && !node.from_copy : later || !node.from_copy) {
      return false;
    }
  }
  return true;
}

SteadyTime RuleSync::Restore(Candidate candidate, const std::optional<VersionRef>& found,
                             SteadyTime now) {
  const auto time = store_.Now();
  if (!time) return OnReadFailure(time.error(), now);
  const bool is_seed = candidate == Candidate::kSeed;
  const VersionId ours = is_seed ? VersionId{} : active_->info.ref.id;
  const VersionId theirs = found ? found->id : VersionId{};
  const VersionId last = followed_.value_or(VersionRef{}).id;
  const Origin origin = ServerOrigin(options_.node.address);
  const Version version =
      MakeVersion({.epoch = std::max({ours.epoch, theirs.epoch, last.epoch}) + 1,
                   .number = std::max({ours.number, theirs.number, last.number}) + 1},
                  is_seed ? *options_.seed : active_->text,
                  {.origin = origin,
                   .time = *time,
                   .message = is_seed ? "rule file of the first node"
                                      : "store had lost versions; text of " + ToText(ours),
                   .source = is_seed ? VersionSource::kSeed : VersionSource::kRecovered,
                   .restores = ours});
  const auto result = store_.Commit(version, found,
                                    {.time = *time,
                                     .origin = origin,
                                     .action = is_seed ? "rules.seed" : "rules.recover",
                                     .target = ToText(version.info.ref.id),
                                     .message = version.info.message,
                                     .node = options_.node.id});
  if (!result) return OnReadFailure(result.error(), now);
  if (!result->committed) return now;  // Another node was first: read what it has stored.
  seed_reported_ = seed_reported_ || is_seed;
  if (!is_seed) {
    const std::lock_guard lock(mutex_);
    ++stats_.restores;
  }
  Report(is_seed ? SyncEventKind::kSeeded : SyncEventKind::kVersionsRestored, version.info.ref,
         is_seed
             ? "the store was empty: stored the rule file as version " + ToText(version.info.ref.id)
             : "the store had lost versions: stored " + ToText(ours) + " again as version " +
                   ToText(version.info.ref.id));
  Take(version.info.ref, now);
  return NextRead(now);
}

void RuleSync::Publish() {
  NodeRecord node = options_.node;
  if (active_ && origin_ != RulesOrigin::kSeed) node.active = active_->info.ref;
  node.from_copy = origin_ == RulesOrigin::kLastGood;
  node.active_since = active_since_;
  node.rejected = rejected_;
  node.error = rejected_error_;
  node.rules_from_file = !options_.follow_rules;
  records_.Describe(node);
  if (hooks_.describe_node) hooks_.describe_node(node);
  const auto written = store_.WriteNode(node);
  const std::lock_guard lock(mutex_);
  stats_.publish_error = written ? std::string() : written.error().message;
}

void RuleSync::Leave() { (void)store_.RemoveNode(options_.node.id); }

void RuleSync::SaveCopy() {
  if (copy_ == nullptr) return;
  if (auto error = copy_->Save(*active_)) {
    Report(SyncEventKind::kCopyFailed, active_->info.ref,
           "last good copy not saved, a restart without the store would use an earlier one: " +
               error->message);
  }
}

void RuleSync::Report(SyncEventKind kind, const VersionRef& version, std::string message) {
  if (hooks_.on_event) hooks_.on_event({kind, version, std::move(message)});
}

void RuleSync::CountRead(const std::optional<Error>& error, SteadyTime now) {
  std::optional<SyncEventKind> event;
  {
    const std::lock_guard lock(mutex_);
    if (error) {
      if (stats_.consecutive_failures++ == 0) event = SyncEventKind::kStoreFailed;
      ++stats_.failures;
      stats_.last_error = error->message;
    } else {
      if (stats_.consecutive_failures > 0) event = SyncEventKind::kStoreRecovered;
      stats_.consecutive_failures = 0;
      stats_.last_error.clear();
      stats_.last_good_read = now;
    }
    stats_.up = !error;
  }
  if (!event) return;
  Report(*event, followed_.value_or(VersionRef{}),
         error ? "rules can't be read from the store, keeping those in use: " + error->message
               : std::string("rules are read from the store again"));
}

std::uint64_t RuleSync::Random() const { return hooks_.random ? hooks_.random() : RandomId(); }

SteadyTime RuleSync::NextRead(SteadyTime now) const {
  const auto tenth = static_cast<std::uint64_t>(options_.interval.count() / 10);
  const std::uint64_t random = Random();
  return now + options_.interval - Micros(static_cast<std::int64_t>(tenth)) +
         Micros(static_cast<std::int64_t>(random % (2 * tenth + 1)));
}

SyncStats RuleSync::Stats() const {
  SyncStats stats = [this] {
    const std::lock_guard lock(mutex_);
    return stats_;
  }();
  stats.records = records_.Stats();
  return stats;
}

}  // namespace sluice::control
