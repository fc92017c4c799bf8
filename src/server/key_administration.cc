#include "server/key_administration.h"

#include <chrono>
#include <future>
#include <utility>

#include "base/clock.h"
#include "base/labels.h"
#include "server/redis_report.h"

namespace sluice::server {
namespace {

using api::ListedKey;
using telemetry::LogLevel;

// Requests that may wait for a thread; more get 503 BUSY.
constexpr std::size_t kWaitingTasks = 64;
constexpr std::size_t kTaskThreads = 2;
constexpr Micros kListTime = std::chrono::milliseconds(50);
constexpr Micros kPreviewTime = std::chrono::seconds(1);
constexpr std::size_t kSampleKeys = 20;
constexpr Micros kResetTimeout = std::chrono::seconds(5);
constexpr Micros kStopPoll = std::chrono::milliseconds(20);

std::unique_ptr<KeySource> SourceOf(const Shared& shared,
                                    std::optional<redis::PrimaryClients>& primaries) {
  if (primaries) return std::make_unique<RedisKeySource>(*primaries, shared.names.get());
  return std::make_unique<MemoryKeySource>(*shared.memory, shared.names.get());
}

std::string DescribeSelector(const api::KeySelector& selector) {
  std::string text;
  const auto add = [&text](std::string_view name, std::string_view value) {
    if (value.empty()) return;
    text.append(text.empty() ? "" : ", ").append(name).append("=").append(value);
  };
  add("rule", selector.rule);
  if (!selector.prefix.empty()) {
    add("prefix", std::to_string(selector.prefix.size()) + " bytes");
  }
  if (selector.glob) add("match", std::to_string(selector.pattern.size()) + " bytes");
  return text.empty() ? "all keys" : text;
}

}  // namespace

KeyAdministration::KeyAdministration(Environment environment)
    : environment_(std::move(environment)),
      jobs_(
          [this]() -> KeySource& {
            const Shared& shared = environment_.shared;
            if (shared.redis) primaries_.emplace(*shared.redis);
            source_ = SourceOf(shared, primaries_);
            return *source_;
          }(),
          {.reset = [this](const std::vector<ListedKey>& keys) { return ResetKeys(keys); },
           .on_ended = [this](const api::ResetJob& job) { NoteEnd(job); }}),
      tasks_(
          [this](const Task& task) {
            (*task)(*this);
            return true;
          },
          {.threads = kTaskThreads, .max_waiting = kWaitingTasks, .rests = false}) {}

KeyAdministration::~KeyAdministration() { Stop(); }

void KeyAdministration::Run(net::Loop& caller, api::KeyTask task,
                            std::function<void(bool ran)> done) {
  const auto shared_task = std::make_shared<api::KeyTask>(std::move(task));
  const bool waits = tasks_.Ask(shared_task, caller, [done](const auto& /*ran*/) { done(true); });
  if (!waits) caller.Post([done = std::move(done)] { done(false); });
}

bool KeyAdministration::TryStop(Micros timeout) {
  stopping_ = true;
  return tasks_.TryStop(timeout);
}

void KeyAdministration::Stop() {
  stopping_ = true;
  jobs_.Stop();
  tasks_.Stop();
}

Result<api::KeyPage> KeyAdministration::ListKeys(const api::KeyQuery& query) {
  const SteadyTime end = SteadyClock::Now() + kListTime;
  api::KeyPage page{.cursor = query.cursor};
  do {
    auto portion = source_->Next(query.selector, page.cursor);
    if (!portion) return portion.error();
    page.cursor = std::move(portion->cursor);
    page.scanned += portion->scanned;
    std::move(portion->keys.begin(), portion->keys.end(), std::back_inserter(page.keys));
  } while (!page.cursor.empty() && page.keys.size() < query.limit && SteadyClock::Now() < end);
  page.complete = source_->is_complete();
  return page;
}

Result<api::ResetPreview> KeyAdministration::PreviewReset(const api::KeySelector& selector) {
  const SteadyTime end = SteadyClock::Now() + kPreviewTime;
  api::ResetPreview preview;
  std::string cursor;
  do {
    auto portion = source_->Next(selector, cursor);
    if (!portion) return portion.error();
    cursor = std::move(portion->cursor);
    preview.scanned += portion->scanned;
    preview.count += portion->keys.size();
    for (ListedKey& listed : portion->keys) {
      if (preview.sample.size() < kSampleKeys) preview.sample.push_back(std::move(listed.key));
    }
  } while (!cursor.empty() && SteadyClock::Now() < end && !stopping_);
  preview.complete = cursor.empty() && source_->is_complete();
  return preview;
}

std::optional<api::ResetJob> KeyAdministration::StartReset(const api::KeySelector& selector,
                                                           std::uint64_t max_keys,
                                                           const control::Origin& origin) {
  auto job = jobs_.Start(selector, max_keys, origin);
  if (!job) return job;
  environment_.shared.log.Write(
      LogLevel::kWarn, "reset by selector started",
      {{"id", job->id}, {"selector", DescribeSelector(selector)}, {"author", origin.author}});
  environment_.audit(origin, "limits.reset_selector",
                     "reset " + job->id + ": " + DescribeSelector(selector));
  return job;
}

std::optional<api::ResetJob> KeyAdministration::CancelReset(std::string_view id) {
  return jobs_.Cancel(id);
}

void KeyAdministration::NoteEnd(const api::ResetJob& job) {
  environment_.shared.log.Write(
      job.state == api::ResetState::kFailed ? LogLevel::kError : LogLevel::kWarn,
      "reset by selector ended",
      {{"id", job.id},
       {"state", LabelOf(job.state)},
       {"scanned", job.scanned},
       {"matched", job.matched},
       {"reset", job.reset},
       {"error", job.error}});
  environment_.audit(job.origin, "limits.reset_selector",
                     "reset " + job.id + " " + std::string(LabelOf(job.state)) + ": " +
                         std::to_string(job.reset) + " of " + std::to_string(job.matched) +
                         " keys reset");
}

const Limit& KeyAdministration::LimitOf(std::string_view scope) {
  static const Limit kAny = *Limit::FixedWindow({.limit = 1, .window = std::chrono::seconds(1)});
  const auto rules = environment_.shared.rules.Active();
  if (rules.number != limits_version_ && rules.value) {
    limits_version_ = rules.number;
    limits_.clear();
    for (const rules::Rule& rule : rules.value->file().rules) {
      for (const rules::NamedLimit& limit : rule.variants.usual) {
        if (limit.reject_all) continue;
        std::string name;
        AppendPercentEncoded(rule.id, name);
        name.push_back(':');
        AppendPercentEncoded(limit.name, name);
        limits_.emplace(std::move(name), limit.limit);
      }
    }
  }
  const auto found = limits_.find(std::string(scope));
  return found == limits_.end() ? kAny : found->second;
}

Result<std::size_t> KeyAdministration::ResetKeys(const std::vector<ListedKey>& keys) {
  std::vector<KeyToReset> resets;
  for (const ListedKey& listed : keys) {
    const std::string_view scope = listed.key.view().scope;
    resets.push_back(
        {.key = listed.key, .limit = LimitOf(scope), .of_rule = !scope.starts_with(':')});
  }
  const auto run = std::make_shared<KeyResets>(resets);
  auto outcome = run->outcome();
  environment_.run_resets(run);
  const SteadyTime end = SteadyClock::Now() + kResetTimeout;
  while (outcome.wait_for(kStopPoll) != std::future_status::ready) {
    if (stopping_) return Error{ErrorCode::kStoreUnavailable, "the server stops"};
    if (SteadyClock::Now() >= end) {
      return Error{ErrorCode::kStoreTimeout, "an event loop did not answer"};
    }
  }
  return outcome.get();
}

api::StoreReport KeyAdministration::ReportStore() {
  api::StoreReport report;
  const Shared& shared = environment_.shared;
  if (!primaries_) {
    report.memory = shared.memory->StatsApprox();
    for (std::size_t i = 0; shared.names && i < shared.names->loops(); ++i) {
      report.named_keys += shared.names->of_loop(i).size();
    }
    return report;
  }
  const auto primaries = primaries_->List();
  if (!primaries) {
    report.redis.push_back(
        {.name = redis::AddressOf(*shared.redis), .error = primaries.error().message});
    return report;
  }
  for (const redis::PrimaryClients::Primary& primary : *primaries) {
    report.redis.push_back(ReportOn(primary, primaries_->timeout()));
  }
  return report;
}

}  // namespace sluice::server
