#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/result.h>

#include "base/live.h"
#include "identity/client_address.h"
#include "net/address.h"
#include "net/loop.h"
#include "net/loops.h"
#include "net/tls_context.h"
#include "server/metrics.h"
#include "server/reloader.h"
#include "server/worker.h"
#include "settings/config.h"
#include "transport/admission.h"
#include "transport/listener_group.h"
#include "transport/memory_budget.h"

namespace sluice::server {

/// An address on which the server listens.
struct Listening {
  std::string_view name;    ///< Of the protocol, for people: "Redis protocol".
  std::string_view scheme;  ///< "http", "https", "redis", …
  net::ListenAddress address;
};

/// All listeners of the server. Each protocol is one row of a table in listeners.cc: adding one
/// takes that row, a settings section and a session. Lives on the main loop.
class Listeners {
 public:
  struct Environment {
    net::Loop& main;
    net::Loops& loops;
    transport::Admission& admission;
    transport::MemoryBudget& memory;
    Reloader& reloader;
    telemetry::Log& log;
  };
  /// All must outlive it, but for loads of the reloader, which end before; `worker` returns that of
  /// a loop.
  Listeners(const Environment& environment, const settings::Config& config,
            const identity::TrustedProxies& proxies,
            const std::function<Worker&(std::size_t loop)>& worker);

  /// Listens on all configured addresses. An error names the setting.
  Result<bool> Open();
  /// Stops listening and drains all connections; `on_empty` runs on the main loop when none is
  /// left, soon after the deadline at the latest.
  void Drain(SteadyTime deadline, std::function<void()> on_empty);

  [[nodiscard]] std::span<const Listening> addresses() const { return addresses_; }
  [[nodiscard]] std::vector<ListenerGroupFigures> Figures() const;

 private:
  Result<bool> LoadCertificate(const std::string& section, const net::TlsServerOptions& options,
                               Live<net::TlsContext>& live);
  Result<bool> Listen(transport::ListenerGroup& group, const std::vector<std::string>& addresses,
                      const std::string& section, transport::Security security,
                      std::string_view name, std::string_view scheme);

  Environment environment_;
  const settings::Config& config_;
  // Both in the order of the table.
  std::vector<Live<net::TlsContext>> certificates_;  ///< Without a version: no listeners with TLS.
  std::vector<std::unique_ptr<transport::ListenerGroup>> groups_;
  std::vector<Listening> addresses_;
  std::size_t open_ = 0;
};

}  // namespace sluice::server
