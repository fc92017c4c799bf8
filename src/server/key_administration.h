#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <sluice/limit.h>

#include "api/admin/key_services.h"
#include "net/loop.h"
#include "redis/primary_clients.h"
#include "server/key_resets.h"
#include "server/key_source.h"
#include "server/reset_jobs.h"
#include "server/shared.h"
#include "server/shared_work.h"

namespace sluice::server {

/// Requests of administrators about the keys of the store, and the threads that serve them.
///
/// Thread-safe.
class KeyAdministration final : public api::KeyServices {
 public:
  struct Environment {
    Shared& shared;
    /// Runs resets on an event loop; their outcome comes later, or never if the loop ends.
    std::function<void(std::shared_ptr<KeyResets>)> run_resets;
    /// Appends to the audit log.
    std::function<void(const control::Origin&, std::string action, std::string target)> audit;
  };
  explicit KeyAdministration(Environment environment);
  ~KeyAdministration() override;

  /// Runs a task: see api::AdminServices::RunKeyTask.
  void Run(net::Loop& caller, api::KeyTask task, std::function<void(bool ran)> done);
  /// Cancels the reset that runs. Waits so long at most for requests. False: one has not ended.
  [[nodiscard]] bool TryStop(Micros timeout);
  void Stop();

  // ---- api::KeyServices

  Result<api::KeyPage> ListKeys(const api::KeyQuery& query) override;
  Result<api::ResetPreview> PreviewReset(const api::KeySelector& selector) override;
  std::optional<api::ResetJob> StartReset(const api::KeySelector& selector, std::uint64_t max_keys,
                                          const control::Origin& origin) override;
  std::vector<api::ResetJob> ListResets() override { return jobs_.List(); }
  std::optional<api::ResetJob> FindReset(std::string_view id) override { return jobs_.Find(id); }
  std::optional<api::ResetJob> CancelReset(std::string_view id) override;
  api::StoreReport ReportStore() override;

 private:
  using Task = std::shared_ptr<api::KeyTask>;

  Result<std::size_t> ResetKeys(const std::vector<api::ListedKey>& keys);
  [[nodiscard]] const Limit& LimitOf(std::string_view scope);
  void NoteEnd(const api::ResetJob& job);

  const Environment environment_;
  std::optional<redis::PrimaryClients> primaries_;  ///< With Redis.
  std::unique_ptr<KeySource> source_;
  std::atomic<bool> stopping_{false};
  // Of the thread that resets.
  std::uint64_t limits_version_ = 0;
  std::unordered_map<std::string, Limit> limits_;  ///< By scope, of that version of the rules.
  ResetJobs jobs_;
  SharedWork<Task, bool> tasks_;
};

}  // namespace sluice::server
