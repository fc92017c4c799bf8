#include "server/reset_jobs.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <utility>

#include <pthread.h>

#include "base/clock.h"
#include "base/random.h"

namespace sluice::server {
namespace {

using api::ResetJob;
using api::ResetState;

constexpr Micros kShortestRest = std::chrono::milliseconds(1);
constexpr Micros kLongestRest = std::chrono::milliseconds(500);
constexpr Micros kFirstRetry = std::chrono::milliseconds(50);

std::string NewJobId() {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(RandomId()));
  return text.data();
}

}  // namespace

ResetJobs::ResetJobs(KeySource& source, ResetJobOptions options)
    : source_(source), options_(std::move(options)) {}

ResetJobs::~ResetJobs() { Stop(); }

void ResetJobs::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = canceled_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::optional<ResetJob> ResetJobs::Start(const api::KeySelector& selector, std::uint64_t max_keys,
                                         const control::Origin& origin) {
  const std::lock_guard lock(mutex_);
  if (runs_ || stopped_) return std::nullopt;
  if (thread_.joinable()) thread_.join();  // It has ended, but for its last instructions.
  runs_ = true;
  canceled_ = false;
  ResetJob job{
      .id = NewJobId(), .selector = selector, .origin = origin, .started = TheSystemClock().Now()};
  jobs_.push_front(job);
  if (jobs_.size() > kJobsKept) jobs_.pop_back();
  thread_ = std::thread([this, job, max_keys] { Run(job, max_keys); });
  return job;
}

std::vector<ResetJob> ResetJobs::List() const {
  const std::lock_guard lock(mutex_);
  return {jobs_.begin(), jobs_.end()};
}

std::optional<ResetJob> ResetJobs::Find(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(jobs_.begin(), jobs_.end(), [&](const ResetJob& job) { return job.id == id; });
  return found == jobs_.end() ? std::nullopt : std::optional(*found);
}

std::optional<ResetJob> ResetJobs::Cancel(std::string_view id) {
  if (!Find(id)) return std::nullopt;
  {
    const std::lock_guard lock(mutex_);
    if (runs_ && jobs_.front().id == id) canceled_ = true;
  }
  wake_.notify_all();
  return Find(id);
}

bool ResetJobs::Rest(Micros time) {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, time, [this] { return canceled_; });
  return canceled_;
}

void ResetJobs::Publish(const ResetJob& job) {
  const std::lock_guard lock(mutex_);
  jobs_.front() = job;
}

void ResetJobs::End(ResetJob& job, ResetState state, std::string error) {
  job.state = state;
  job.error = std::move(error);
  job.ended = TheSystemClock().Now();
  if (options_.on_ended) options_.on_ended(job);
  const std::lock_guard lock(mutex_);
  jobs_.front() = job;
  runs_ = false;
}

bool ResetJobs::Try(ResetJob& job, const std::function<std::optional<Error>()>& step) {
  const SteadyTime give_up = SteadyClock::Now() + options_.give_up_after;
  for (Micros pause = kFirstRetry;; pause = std::min(2 * pause, kLongestRest)) {
    const auto error = step();
    if (!error) return true;
    if (error->code == ErrorCode::kInvalidOptions || SteadyClock::Now() >= give_up) {
      End(job, ResetState::kFailed, error->message);
      return false;
    }
    if (Rest(pause)) {
      End(job, ResetState::kCanceled);
      return false;
    }
  }
}

bool ResetJobs::ResetPortion(ResetJob& job, const KeyPortion& portion) {
  for (std::size_t begin = 0; begin < portion.keys.size(); begin += kKeysAtOnce) {
    const std::size_t end = std::min(begin + kKeysAtOnce, portion.keys.size());
    const std::vector<api::ListedKey> keys(
        portion.keys.begin() + static_cast<std::ptrdiff_t>(begin),
        portion.keys.begin() + static_cast<std::ptrdiff_t>(end));
    std::size_t reset = 0;
    const SteadyTime began = SteadyClock::Now();
    const bool done = Try(job, [&]() -> std::optional<Error> {
      const auto outcome = options_.reset(keys);
      if (!outcome) return outcome.error();
      reset = *outcome;
      return std::nullopt;
    });
    if (!done) return false;
    job.reset += reset;
    Publish(job);
    const Micros took = std::chrono::ceil<Micros>(SteadyClock::Now() - began);
    if (Rest(std::clamp(took, kShortestRest, kLongestRest))) {
      End(job, ResetState::kCanceled);
      return false;
    }
  }
  return true;
}

void ResetJobs::Run(ResetJob job, std::uint64_t max_keys) {
  pthread_setname_np(pthread_self(), "sluice-reset");
  std::string cursor;
  do {
    KeyPortion portion;
    const SteadyTime began = SteadyClock::Now();
    const bool found = Try(job, [&]() -> std::optional<Error> {
      auto next = source_.Next(job.selector, cursor);
      if (!next) return next.error();
      portion = *std::move(next);
      return std::nullopt;
    });
    if (!found) return;
    job.scanned += portion.scanned;
    job.complete = source_.is_complete();
    if (job.matched + portion.keys.size() > max_keys) {
      return End(job, ResetState::kFailed,
                 "more than max_keys (" + std::to_string(max_keys) + ") keys match");
    }
    job.matched += portion.keys.size();
    Publish(job);
    const Micros took = std::chrono::ceil<Micros>(SteadyClock::Now() - began);
    if (Rest(std::clamp(took, kShortestRest, kLongestRest))) {
      return End(job, ResetState::kCanceled);
    }
    if (!ResetPortion(job, portion)) return;
    cursor = std::move(portion.cursor);
  } while (!cursor.empty());
  End(job, ResetState::kDone);
}

}  // namespace sluice::server
