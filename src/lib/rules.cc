#include <deque>
#include <system_error>
#include <utility>

#include <sluice/rules.h>

#include "base/clock.h"
#include "lib/rules_in_force.h"
#include "match/rule_set.h"

namespace sluice {
namespace {

// A thread seldom checks by more rules than these.
constexpr std::size_t kRulesOfAThread = 4;

std::string Joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "\n") + line;
  return text;
}

Result<std::uint64_t> VersionOf(const LoadReport& report) {
  if (report.outcome == LoadOutcome::kRefused) {
    return Error{ErrorCode::kInvalidRules, Joined(report.errors)};
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

// A thread that checked by these rules may hold them a little longer, without a watch.
Rules::~Rules() {
  if (impl_) impl_->watch.reset();
}

Result<Rules> Rules::FromText(std::string_view yaml, const std::string& name) {
  auto impl = std::make_shared<Impl>();
  auto version = VersionOf(LoadRules(impl->live, name, yaml, TheSystemClock().Now()));
  if (!version) return version.error();
  return Rules(std::move(impl));
}

Result<Rules> Rules::FromFile(const std::string& path) {
  auto impl = std::make_shared<Impl>();
  FileWatcher watcher{WatchedFiles(path)};
  auto version =
      VersionOf(LoadRules(impl->live, watcher.ReadNow(SteadyClock::Now()), TheSystemClock().Now()));
  if (!version) return version.error();
  Live<match::RuleSet>& live = impl->live;
  try {
    impl->watch = std::make_unique<WatchThread>(std::vector<WatchThread::Watch>{
        {.watcher = std::move(watcher), .on_change = [&live](const FileChange& change) {
           LoadRules(live, change, TheSystemClock().Now());
         }}});
  } catch (const std::system_error& error) {
    return Error{ErrorCode::kInvalidOptions, path + " can't be watched: " + error.what()};
  }
  return Rules(std::move(impl));
}

Result<std::uint64_t> Rules::Replace(std::string_view yaml) {
  return VersionOf(
      LoadRules(impl_->live, impl_->live.Active().source, yaml, TheSystemClock().Now()));
}

Result<std::uint64_t> Rules::Rollback(std::uint64_t version) {
  const auto number = impl_->live.Rollback(version, TheSystemClock().Now());
  if (number) return *number;
  return Error{ErrorCode::kInvalidRules,
               "version " + std::to_string(version) + " is not kept any more, or never was"};
}

RulesInfo Rules::Info() const {
  const LiveVersion<match::RuleSet> active = impl_->live.Active();
  const LiveStatus status = impl_->live.Status();
  return {.version = active.number,
          .fingerprint = active.fingerprint,
          .rules = active.value->file().rules.size(),
          .since = active.since,
          .failing = status.failing,
          .last_error = Joined(*status.last_error)};
}

RulesOfThread* RulesOfThread::Find(const Live<match::RuleSet>& live) {
  for (RulesOfThread& rules : KnownToThread()) {
    if (rules.live == &live) return &rules;
  }
  return nullptr;
}

RulesOfThread& RulesOfThread::Add(const Live<match::RuleSet>& live,
                                  std::shared_ptr<const void> owner) {
  auto& known = KnownToThread();
  if (known.size() == kRulesOfAThread) known.pop_front();
  return known.emplace_back(std::move(owner), &live, LiveReader<match::RuleSet>(live));
}

}  // namespace sluice
