#include <deque>
#include <system_error>
#include <utility>

#include <sluice/rules.h>

#include "base/clock.h"
#include "lib/rules_in_force.h"
#include "rules/rule_set.h"

namespace sluice {
namespace {

// A thread seldom checks by more rules than these.
constexpr std::size_t kRulesOfAThread = 4;

std::string DescribeAll(const std::vector<rules::Mistake>& mistakes) {
  std::string text;
  for (const rules::Mistake& mistake : mistakes) {
    if (!text.empty()) text += '\n';
    text += Describe(mistake);
  }
  return text;
}

Result<std::uint64_t> VersionOf(const rules::LoadReport& report) {
  if (report.outcome == rules::LoadOutcome::kRefused) {
    return Error{ErrorCode::kInvalidRules, DescribeAll(report.mistakes)};
  }
  return report.version;
}

std::deque<RulesOfThread>& KnownToThread() {
  thread_local std::deque<RulesOfThread> known;
  return known;
}

}  // namespace

Rules::Rules(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Rules::Rules(Rules&&) noexcept = default;
Rules& Rules::operator=(Rules&&) noexcept = default;

// A thread that checked by these rules may hold them a little longer; nobody watches for it.
Rules::~Rules() {
  if (impl_) impl_->watch.reset();
}

Result<Rules> Rules::FromText(std::string_view yaml, const std::string& name) {
  auto impl = std::make_shared<Impl>();
  auto version = VersionOf(impl->live.Load(name, yaml, TheSystemClock().Now()));
  if (!version) return version.error();
  return Rules(std::move(impl));
}

Result<Rules> Rules::FromFile(const std::string& path) {
  auto impl = std::make_shared<Impl>();
  rules::FileWatcher watcher(path);
  auto version =
      VersionOf(impl->live.Load(watcher.LookNow(SteadyClock::Now()), TheSystemClock().Now()));
  if (!version) return version.error();
  rules::LiveRules& live = impl->live;
  try {
    impl->watch = std::make_unique<rules::WatchThread>(
        std::move(watcher),
        [&live](const rules::FileChange& change) { live.Load(change, TheSystemClock().Now()); });
  } catch (const std::system_error& error) {
    return Error{ErrorCode::kInvalidOptions, path + " can't be watched: " + error.what()};
  }
  return Rules(std::move(impl));
}

Result<std::uint64_t> Rules::Replace(std::string_view yaml) {
  return VersionOf(
      impl_->live.Load(impl_->live.Status().active.file, yaml, TheSystemClock().Now()));
}

Result<std::uint64_t> Rules::Rollback(std::uint64_t version) {
  const auto number = impl_->live.Rollback(version, TheSystemClock().Now());
  if (number) return *number;
  return Error{ErrorCode::kInvalidRules,
               "version " + std::to_string(version) + " is not kept any more, or never was"};
}

RulesInfo Rules::Info() const {
  const rules::RulesStatus status = impl_->live.Status();
  return {.version = status.active.number,
          .fingerprint = status.active.fingerprint,
          .rules = status.active.rules->file().rules.size(),
          .since = status.active.since,
          .failing = status.failing,
          .last_error = DescribeAll(status.last_error)};
}

RulesOfThread* RulesOfThread::Find(const rules::LiveRules& live) {
  for (RulesOfThread& rules : KnownToThread()) {
    if (rules.live == &live) return &rules;
  }
  return nullptr;
}

RulesOfThread& RulesOfThread::Add(const rules::LiveRules& live, std::shared_ptr<const void> owner) {
  auto& known = KnownToThread();
  if (known.size() == kRulesOfAThread) known.pop_front();
  return known.emplace_back(std::move(owner), &live, rules::RulesReader(live));
}

}  // namespace sluice
