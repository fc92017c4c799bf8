#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/result.h>

#include "net/address.h"
#include "net/timer.h"
#include "rules/file_watcher.h"
#include "server/admission.h"
#include "server/config.h"
#include "server/entrance.h"
#include "server/envoy_keeper.h"
#include "server/loops.h"
#include "server/shared.h"
#include "server/store_speed.h"
#include "server/tls_keeper.h"
#include "server/worker.h"

namespace sluice::server {

/// The whole server, from its settings to its end.
///
/// `Start` makes everything and listens; `Run` serves until it is told to end. The main thread
/// accepts, watches over signals and drains; the loops do everything else.
class Server final : private Operations {
 public:
  /// Fails with kInvalidOptions, kInvalidRules or whatever listening fails with; the message says
  /// which setting is to blame.
  static Result<std::unique_ptr<Server>> Start(const Config& config);
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

  /// Where it listens really.
  struct Addresses {
    std::vector<net::ListenAddress> http{}, http_tls{}, resp{}, resp_tls{}, grpc{}, grpc_tls{};
  };
  [[nodiscard]] const Addresses& addresses() const { return at_; }

 private:
  Server(const Config& config, const telemetry::LogOptions& log);

  Result<bool> Prepare();
  Result<bool> ReadSecrets();
  Result<bool> LearnIdentity();
  void LearnIdentityAgain();
  Result<bool> ChooseStore();
  Result<bool> LoadRules();
  Result<bool> LoadEnvoyConfig() { return envoy_.Start(); }
  Result<bool> Open();
  Result<bool> Listen(Entrance& entrance, const std::vector<std::string>& addresses,
                      std::string_view section, Security security,
                      std::vector<net::ListenAddress>& at);
  Result<bool> ListenWithTls(Entrance& entrance, std::string_view section,
                             const TlsSettings& settings, const net::TlsServerOptions& options,
                             std::vector<net::ListenAddress>& at);
  void Drain();
  void GiveUp();
  void WatchStoreSpeed();
  [[nodiscard]] api::Condition RedisCondition() const;
  void TellOfLoad(const rules::LoadReport& report);

  rules::LoadReport ReloadRules() override;
  void MakeMetrics(net::Loop& asker, api::MetricsFormat format,
                   std::function<void(std::string page)> done) override;
  api::Health CheckHealth() override;
  std::vector<std::pair<std::string, std::uint64_t>> StoreNumbers() override;

  Shared shared_;
  std::unique_ptr<rules::WatchThread> watch_;
  EnvoyKeeper envoy_{shared_};
  net::Loop main_;
  Loops loops_;
  std::vector<std::unique_ptr<Worker>> workers_;  ///< Each belongs to its loop's thread.
  Admission admission_;
  identity::TrustedProxies trusted_;
  std::unique_ptr<Entrance> http_;
  std::unique_ptr<Entrance> resp_;
  std::unique_ptr<Entrance> grpc_;
  TlsKeeper tls_;
  Addresses at_;
  std::size_t entrances_open_ = 0;
  net::Timer last_resort_{main_, [this] { GiveUp(); }};
  StoreSpeed store_speed_;
  net::Timer speed_watch_{main_, [this] { WatchStoreSpeed(); }};
  Ended ended_ = Ended::kWell;
};

/// The rules of a server that was given none.
extern const std::string_view kExampleRules;

}  // namespace sluice::server
