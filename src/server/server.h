#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/result.h>

#include "net/loops.h"
#include "net/timer.h"
#include "server/administration.h"
#include "server/control_plane.h"
#include "server/insight.h"
#include "server/key_administration.h"
#include "server/listeners.h"
#include "server/memory_returner.h"
#include "server/reloader.h"
#include "server/room_watch.h"
#include "server/shared.h"
#include "server/shared_work.h"
#include "server/store_speed.h"
#include "server/worker.h"
#include "settings/config.h"
#include "transport/admission.h"
#include "transport/memory_budget.h"

namespace sluice::server {

/// The whole server, from its settings to its end.
///
/// `Start` makes everything and listens; `Run` serves until shutdown. The main thread
/// accepts, watches over signals and drains; the loops do everything else.
class Server final {
 public:
  /// Fails with kInvalidOptions, kInvalidRules or whatever listening fails with; the message says
  /// which setting is to blame.
  static Result<std::unique_ptr<Server>> Start(const settings::Config& config);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  enum class Ended : std::uint8_t {
    kWell,
    kStuck,  ///< A loop does not come to its end: waiting for it, as destroying does, may never
             ///< end.
  };
  /// Until SIGTERM or SIGINT, and until what was under way then is done, or its time is over.
  /// Signals are handled only while this runs; `on_ready` is run as soon as they are.
  [[nodiscard]] Ended Run(const std::function<void()>& on_ready = [] {});
  /// As SIGTERM does. From any thread.
  void End();

  /// "memory", or the address of Redis and whether it is connected. From any thread.
  [[nodiscard]] std::string DescribeStore() const;

  /// The source of the rules and their version, for people. From any thread.
  [[nodiscard]] std::string DescribeRules() const;

  /// The addresses on which it listens, with real ports.
  [[nodiscard]] std::span<const Listening> addresses() const { return listeners_->addresses(); }

 private:
  explicit Server(const settings::Config& config);

  Result<bool> Prepare();
  Result<bool> ReadSecrets();
  Result<bool> LoadIdentity();
  Result<bool> LoadAdminKeys();
  void WarnOfPlaintextTokens();
  Result<bool> ChooseStore();
  Result<bool> LoadRules();
  Result<bool> OpenControlPlane();
  Result<bool> StartControlPlane();
  Result<bool> LoadEnvoyConfig();
  void StartInsight();
  void MakeKeyAdministration();
  void Drain();
  void GiveUp();
  void AwaitLeaseReturns();
  void WatchStore();
  void WatchRoom();
  LoadReport LoadRulesFrom(const FileChange& change, WallTime now);

  LoadReport RunRulesTask(const RulesTask& task);
  [[nodiscard]] std::string MetricsPage(api::MetricsFormat format) const;
  Shared shared_;
  Reloader reloader_{shared_.log};
  net::Loop main_;
  net::Loops loops_;
  std::vector<std::unique_ptr<Worker>> workers_;  ///< Each belongs to its loop's thread.
  transport::Admission admission_;
  transport::MemoryBudget memory_;
  MemoryReturner memory_returner_{memory_, admission_};
  identity::TrustedProxies trusted_;
  std::unique_ptr<Listeners> listeners_;
  net::Timer last_resort_{main_, [this] { GiveUp(); }};
  StoreSpeed store_speed_;
  RoomWatch memory_room_;
  RoomWatch request_keys_room_;
  net::Timer store_watch_{main_, [this] { WatchStore(); }};
  Ended ended_ = Ended::kWell;
  Insight insight_{shared_, loops_, workers_};
  std::unique_ptr<ControlPlane> control_;
  // Slow operations run here: the main loop, which accepts, handles signals and feeds the watchdog,
  // and the loops of connections never wait for them.
  MetricsWork metrics_work_{[this](api::MetricsFormat format) { return MetricsPage(format); }};
  RulesWork rules_work_{[this](const RulesTask& task) { return RunRulesTask(task); }};
  std::unique_ptr<KeyAdministration> keys_;
};

}  // namespace sluice::server
