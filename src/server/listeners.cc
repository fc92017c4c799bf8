#include "server/listeners.h"

#include <algorithm>
#include <array>
#include <utility>

#include "transport/certificate.h"

namespace sluice::server {
namespace {

using settings::Config;
using settings::ListenerSettings;
using transport::ListenerGroupOptions;

void ReserveConnections(const Config& config, ListenerGroupOptions& options) {
  options.reserved = config.limits.reserved_connections;
}

// gRPC sessions check timeouts themselves: an idle connection gets a GOAWAY before it is closed,
// and a silent one may still watch something.
void LetSessionsKeepTime(const Config& config, ListenerGroupOptions& options) {
  options.limits.idle_timeout = Micros{0};
  for (const Micros time : {config.limits.idle_timeout, config.grpc.max_connection_age,
                            config.grpc.max_connection_age_grace, config.grpc.keepalive_interval,
                            config.grpc.keepalive_timeout}) {
    if (time > Micros{0})
      options.limits.check_interval = std::min(options.limits.check_interval, time / 4);
  }
}

struct ProtocolRow {
  std::string_view section;      ///< Of its settings; its label in metrics.
  std::string_view tls_section;  ///< The same with TLS.
  std::string_view name;
  std::string_view scheme;
  std::string_view tls_scheme;
  const ListenerSettings& (*settings)(const Config&);
  std::string_view alpn;          ///< Empty: none.
  std::string_view refusal;       ///< Sent to a client beyond the bounds.
  std::string_view plain_answer;  ///< Sent to a client without TLS on a TLS listener.
  std::unique_ptr<transport::Session> (Worker::*new_session)(transport::Transport&,
                                                             const transport::ConnectionFacts&);
  void (*adjust)(const Config&, ListenerGroupOptions&);  ///< May be null.
};

constexpr std::string_view kHttpRefusal =
    "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n"
    "Retry-After: 1\r\n\r\n";
constexpr std::string_view kPlainHttpAnswer =
    "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/plain\r\n"
    "Content-Length: 41\r\n\r\nThis port speaks HTTPS: ask with https://";

constexpr std::array<ProtocolRow, 4> kProtocols{{
    {.section = "http",
     .tls_section = "http_tls",
     .name = "HTTP",
     .scheme = "http",
     .tls_scheme = "https",
     .settings = [](const Config& config) -> const ListenerSettings& {
       return config.http.listener;
     },
     .alpn = "http/1.1",
     .refusal = kHttpRefusal,
     .plain_answer = kPlainHttpAnswer,
     .new_session = &Worker::NewHttpSession,
     .adjust = ReserveConnections},
    {.section = "resp",
     .tls_section = "resp_tls",
     .name = "Redis protocol",
     .scheme = "redis",
     .tls_scheme = "rediss",
     .settings = [](const Config& config) -> const ListenerSettings& {
       return config.resp.listener;
     },
     .alpn = "",
     .refusal = "-ERR max number of clients reached\r\n",
     .plain_answer = "-ERR this port speaks TLS\r\n",
     .new_session = &Worker::NewRespSession,
     .adjust = nullptr},
    {.section = "grpc",
     .tls_section = "grpc_tls",
     .name = "gRPC",
     .scheme = "grpc",
     .tls_scheme = "grpcs",
     .settings = [](const Config& config) -> const ListenerSettings& {
       return config.grpc.listener;
     },
     .alpn = "h2",
     // An empty SETTINGS frame, and a GOAWAY that says that no stream was processed.
     .refusal = {"\0\0\0\4\0\0\0\0\0"
                 "\0\0\x8\7\0\0\0\0\0\0\0\0\0\0\0\0\0",
                 26},
     .plain_answer = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/plain\r\n"
                     "Content-Length: 32\r\n\r\nThis port speaks gRPC with TLS.\n",
     .new_session = &Worker::NewGrpcSession,
     .adjust = LetSessionsKeepTime},
    {.section = "admin",
     .tls_section = "admin_tls",
     .name = "Admin",
     .scheme = "http",
     .tls_scheme = "https",
     .settings = [](const Config& config) -> const ListenerSettings& {
       return config.admin.listener;
     },
     .alpn = "http/1.1",
     .refusal = kHttpRefusal,
     .plain_answer = kPlainHttpAnswer,
     .new_session = &Worker::NewAdminSession,
     .adjust = ReserveConnections},
}};

ListenerGroupOptions OptionsOf(const ProtocolRow& protocol, const Config& config,
                               const identity::TrustedProxies& proxies) {
  ListenerGroupOptions options;
  options.limits.hard_output_bytes = config.limits.output_bytes;
  options.limits.soft_output_bytes =
      std::min(options.limits.soft_output_bytes, config.limits.output_bytes / 2);
  options.limits.max_pending = config.limits.pipelined;
  options.limits.idle_timeout = config.limits.idle_timeout;
  options.limits.request_timeout = config.limits.request_timeout;
  options.refusal = protocol.refusal;
  if (protocol.settings(config).proxy_protocol) options.proxies = &proxies;
  if (protocol.adjust != nullptr) protocol.adjust(config, options);
  return options;
}

}  // namespace

Listeners::Listeners(const Environment& environment, const Config& config,
                     const identity::TrustedProxies& proxies,
                     const std::function<Worker&(std::size_t loop)>& worker)
    : environment_(environment), config_(config), certificates_(kProtocols.size()) {
  for (const ProtocolRow& protocol : kProtocols) {
    groups_.push_back(std::make_unique<transport::ListenerGroup>(
        environment.main, environment.loops, environment.admission, environment.memory,
        OptionsOf(protocol, config, proxies), [&](std::size_t loop) -> transport::MakeSession {
          return [&its_worker = worker(loop), new_session = protocol.new_session](
                     transport::Transport& transport, const transport::ConnectionFacts& facts) {
            return (its_worker.*new_session)(transport, facts);
          };
        }));
  }
}

Result<bool> Listeners::Open() {
  for (std::size_t i = 0; i < kProtocols.size(); ++i) {
    const ProtocolRow& protocol = kProtocols[i];
    const ListenerSettings& settings = protocol.settings(config_);
    if (auto open = Listen(*groups_[i], settings.listen, std::string(protocol.section),
                           transport::Security::kPlain, protocol.name, protocol.scheme);
        !open) {
      return open;
    }
    if (settings.tls_listen.empty()) continue;
    net::TlsServerOptions tls = settings.tls;
    tls.plain_answer = protocol.plain_answer;
    if (!protocol.alpn.empty()) tls.alpn.emplace_back(protocol.alpn);
    const std::string section(protocol.tls_section);
    if (auto loaded = LoadCertificate(section, tls, certificates_[i]); !loaded) return loaded;
    groups_[i]->UseTls(certificates_[i]);
    if (auto open = Listen(*groups_[i], settings.tls_listen, section, transport::Security::kTls,
                           protocol.name, protocol.tls_scheme);
        !open) {
      return open;
    }
  }
  return true;
}

Result<bool> Listeners::LoadCertificate(const std::string& section,
                                        const net::TlsServerOptions& options,
                                        Live<net::TlsContext>& live) {
  return environment_.reloader.Add(
      {.name = section,
       .thing = "certificate",
       .files = transport::FilesOf(options),
       .load = [&live, section, options](const FileChange& change, WallTime now) {
         return transport::LoadCertificate(live, section, options, change, now);
       }});
}

Result<bool> Listeners::Listen(transport::ListenerGroup& group,
                               const std::vector<std::string>& addresses,
                               const std::string& section, transport::Security security,
                               std::string_view name, std::string_view scheme) {
  const auto fail = [&](const Error& error) {
    return Error{ErrorCode::kInvalidOptions, section + ".listen: " + error.message};
  };
  for (const std::string& text : addresses) {
    auto address = net::ParseListenAddress(text);
    if (!address) return fail(address.error());
    auto real = group.Listen({.address = *address}, security);
    if (!real) return fail(real.error());
    environment_.log.Write(telemetry::LogLevel::kInfo, "listening",
                           {{"protocol", section}, {"address", net::ToText(*real)}});
    addresses_.push_back({.name = name, .scheme = scheme, .address = *std::move(real)});
  }
  return true;
}

void Listeners::Drain(SteadyTime deadline, std::function<void()> on_empty) {
  open_ = groups_.size();
  const auto done = [this, on_empty = std::move(on_empty)] {
    if (--open_ == 0) on_empty();
  };
  for (const auto& group : groups_) group->Drain(deadline, done);
}

std::vector<ListenerGroupFigures> Listeners::Figures() const {
  std::vector<ListenerGroupFigures> figures;
  for (std::size_t i = 0; i < kProtocols.size(); ++i) {
    figures.push_back({.protocol = kProtocols[i].section,
                       .tls_section = kProtocols[i].tls_section,
                       .connections = groups_[i]->Totals(),
                       .certificate = &certificates_[i]});
  }
  return figures;
}

}  // namespace sluice::server
