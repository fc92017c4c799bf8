// Calls per second that reserve tokens and money and are settled afterwards, beside plain checks of
// the same rule over the same connections: limits in memory, in Redis, and leased from Redis.

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "load/redis_process.h"
#include "load/sluice_server.h"
#include "resp/decoder.h"
#include "resp/encoder.h"
#include "run_bench.h"

namespace sluice::bench {
namespace {

constexpr std::size_t kConnections = 8;
constexpr std::size_t kDepth = 32;
constexpr std::size_t kKeys = 1000;
constexpr int kRounds = 5;

// A check of each kind meets three limits, none of which is ever exhausted.
std::string RulesOf(std::string_view consistency) {
  return R"(
models: { small: { input: 0.5, cached: 0.05, output: 2 } }
defaults: { algorithm: fixed_window, window: 30d, consistency: )" +
         std::string(consistency) + R"( }
rules:
  - id: plain
    match: { kind: plain }
    limits: { a: { limit: 1_000_000_000_000 }, b: { limit: 2_000_000_000_000 }, c: { limit: 3_000_000_000_000 } }
  - id: llm
    match: { kind: llm }
    limits:
      requests: { limit: 1_000_000_000_000 }
      output: { limit: 1_000_000_000_000, type: output_tokens }
      money: { limit: 1_000_000 USD, algorithm: fixed_window }
)";
}

/// A connection whose commands are sent together, and whose replies are awaited.
class Connection {
 public:
  explicit Connection(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      throw std::runtime_error("the server does not accept connections");
    }
  }
  ~Connection() { ::close(socket_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) throw std::runtime_error("the server has closed the connection");
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  /// Valid until the next call.
  resp::Value Receive() {
    while (decoder_.Next() != resp::Decoder::Status::kReply) {
      const std::span<char> room = decoder_.Prepare(1U << 16);
      const ssize_t received = ::recv(socket_, room.data(), room.size(), 0);
      if (received <= 0) throw std::runtime_error("the server has closed the connection");
      decoder_.Commit(static_cast<std::size_t>(received));
    }
    const resp::Value reply = decoder_.reply();
    if (reply.is_error()) throw std::runtime_error(std::string(reply.text()));
    return reply;
  }

 private:
  int socket_;
  resp::Decoder decoder_;
};

class Load {
 public:
  explicit Load(std::uint16_t port) {
    for (std::size_t i = 0; i < kConnections; ++i) {
      connections_.push_back(std::make_unique<Connection>(port));
    }
  }

  /// Each returns how many calls were completed in a second.
  double Checks(std::chrono::milliseconds time) {
    return Repeat(time, [&] {
      SendAll([&](std::size_t, std::string& out) {
        resp::AppendCommand(out, {"SLUICE.CHECK", "kind", "plain", "api_key", NextKey()});
      });
      ReceiveAll([](std::size_t, const resp::Value& reply) { Expect(reply, 8); });
    });
  }
  double Reservations(std::chrono::milliseconds time) {
    std::vector<std::string> receipts(kConnections * kDepth);
    return Repeat(time, [&] {
      SendAll([&](std::size_t, std::string& out) {
        resp::AppendCommand(
            out, {"SLUICE.RESERVE", "kind", "llm", "api_key", NextKey(), "model", "small", "USE",
                  "input_tokens", "100", "cached_tokens", "0", "output_tokens", "500"});
      });
      ReceiveAll([&](std::size_t call, const resp::Value& reply) {
        Expect(reply, 11);
        receipts[call] = reply.at(10).text();
      });
      SendAll([&](std::size_t call, std::string& out) {
        resp::AppendCommand(out, {"SLUICE.SETTLE", receipts[call], "output_tokens", "123"});
      });
      ReceiveAll([](std::size_t, const resp::Value& reply) {
        if (reply.size() != 4) throw std::runtime_error("a settlement failed");
      });
    });
  }

 private:
  static void Expect(const resp::Value& reply, std::size_t elements) {
    if (reply.size() != elements || reply.at(0).ToInteger() != 1) {
      throw std::runtime_error("a call was denied");
    }
  }
  std::string_view NextKey() {
    key_ = "user:" + std::to_string(next_++ % kKeys);
    return key_;
  }
  template <typename Append>
  void SendAll(Append append) {
    std::size_t call = 0;
    for (const auto& connection : connections_) {
      bytes_.clear();
      for (std::size_t i = 0; i < kDepth; ++i) append(call++, bytes_);
      connection->Send(bytes_);
    }
  }
  template <typename Read>
  void ReceiveAll(Read read) {
    std::size_t call = 0;
    for (const auto& connection : connections_) {
      for (std::size_t i = 0; i < kDepth; ++i) read(call++, connection->Receive());
    }
  }
  template <typename Turn>
  static double Repeat(std::chrono::milliseconds time, Turn turn) {
    turn();  // Connections and keys are there.
    const SteadyTime began = SteadyClock::Now();
    std::size_t turns = 0;
    std::chrono::duration<double> taken{};
    do {
      turn();
      ++turns;
      taken = SteadyClock::Now() - began;
    } while (taken < time);
    return static_cast<double>(turns * kConnections * kDepth) / taken.count();
  }

  std::vector<std::unique_ptr<Connection>> connections_;
  std::string bytes_;
  std::string key_;
  std::size_t next_ = 0;
};

struct Figures {
  std::string store;
  double checks;
  double reservations;
};

Figures Measure(const std::string& name, const std::string& store, std::string_view consistency,
                const Options& options, const testing::Folder& folder) {
  const Process server =
      StartSluiceOn(store, RulesOf(consistency), "--resp", 1, folder, PlacesFor(1).server,
                    {"--receipts-max-settled-per-key", "10000000", "--store-deadline", "10s"});
  RunOn(PlacesFor(1).load);
  Load load(server.port());
  const auto time = std::chrono::milliseconds(options.quick ? 200 : 2000);
  std::vector<double> checks, reservations;
  for (int i = 0; i < (options.quick ? 1 : kRounds); ++i) {
    checks.push_back(load.Checks(time));
    reservations.push_back(load.Reservations(time));
  }
  return {name, Median(checks), Median(reservations)};
}

void Run(const Options& options) {
  const testing::Folder folder;
  const Process redis = StartRedis(AllCores(), folder);
  const std::string url = "redis://127.0.0.1:" + std::to_string(redis.port());
  std::printf(
      "RESP, %zu connections with %zu calls in flight each, one event loop, 3 limits a call\n",
      kConnections, kDepth);
  std::printf("%-8s %16s %26s %8s\n", "store", "SLUICE.CHECK/s", "RESERVE and SETTLE/s", "ratio");
  std::string json;
  const std::array<std::array<std::string, 3>, 3> stores = {
      {{"memory", "memory", "exact"}, {"redis", url, "exact"}, {"leased", url, "leased"}}};
  for (const auto& [name, store, consistency] : stores) {
    const Figures figures = Measure(name, store, consistency, options, folder);
    std::printf("%-8s %16.0f %26.0f %8.2f\n", figures.store.c_str(), figures.checks,
                figures.reservations, figures.reservations / figures.checks);
    json += (json.empty() ? "" : ",\n") + std::string(R"({"store":")") + figures.store +
            R"(","checks_per_second":)" + std::to_string(figures.checks) +
            R"(,"reservations_per_second":)" + std::to_string(figures.reservations) + "}";
  }
  if (!options.json.empty()) std::ofstream(options.json) << "[" << json << "]\n";
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  return sluice::bench::RunBench("bench_llm", argc, argv, sluice::bench::Run);
}
