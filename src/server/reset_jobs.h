#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <sluice/result.h>
#include <sluice/time.h>

#include "api/admin/key_services.h"
#include "server/key_source.h"

namespace sluice::server {

struct ResetJobOptions {
  /// Resets keys and returns how many had something to forget. Blocks; may be called again with the
  /// same keys after an error.
  std::function<Result<std::size_t>(const std::vector<api::ListedKey>& keys)> reset;
  /// Called by the job's thread when a job has ended.
  std::function<void(const api::ResetJob& job)> on_ended{};
  /// A job that makes no progress for so long fails.
  Micros give_up_after = std::chrono::seconds(10);
};

/// Resets of all keys that a selector matches, one job at a time, on a thread of their own. A job
/// takes small portions, and rests after each as long as it took, so that it needs at most half of
/// what the store could do for it.
///
/// Thread-safe.
class ResetJobs {
 public:
  static constexpr std::size_t kJobsKept = 20;
  static constexpr std::size_t kKeysAtOnce = 64;

  /// `source` must outlive it.
  ResetJobs(KeySource& source, ResetJobOptions options);
  ~ResetJobs();
  ResetJobs(const ResetJobs&) = delete;
  ResetJobs& operator=(const ResetJobs&) = delete;

  /// Nothing: a job runs.
  std::optional<api::ResetJob> Start(const api::KeySelector& selector, std::uint64_t max_keys,
                                     const control::Origin& origin);
  [[nodiscard]] std::vector<api::ResetJob> List() const;
  [[nodiscard]] std::optional<api::ResetJob> Find(std::string_view id) const;
  std::optional<api::ResetJob> Cancel(std::string_view id);
  /// Cancels the job that runs, and waits for its end.
  void Stop();

 private:
  void Run(api::ResetJob job, std::uint64_t max_keys);
  /// Repeats `step` until it succeeds. False: the job was canceled, or has failed.
  bool Try(api::ResetJob& job, const std::function<std::optional<Error>()>& step);
  bool ResetPortion(api::ResetJob& job, const KeyPortion& portion);
  /// Returns whether the job is canceled meanwhile.
  bool Rest(Micros time);
  void Publish(const api::ResetJob& job);
  void End(api::ResetJob& job, api::ResetState state, std::string error = {});

  KeySource& source_;
  const ResetJobOptions options_;
  mutable std::mutex mutex_;  ///< Guards everything below but the thread's own.
  std::condition_variable wake_;
  std::deque<api::ResetJob> jobs_;  ///< The newest first.
  bool runs_ = false;
  bool canceled_ = false;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace sluice::server
