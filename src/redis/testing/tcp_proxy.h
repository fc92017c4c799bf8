#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <sluice/time.h>

#include "base/clock.h"

namespace sluice::redis::testing {

/// Stands between a client and a server on the loopback, and gets in the way as asked. Thread-safe.
class TcpProxy {
 public:
  enum class Direction : std::uint8_t { kToServer, kToClient };

  explicit TcpProxy(std::uint16_t server_port);
  ~TcpProxy();
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] int accepted() const { return accepted_.load(); }

  /// The next connection lets exactly so many bytes pass in this direction; then it is cut.
  void CutNextAfter(Direction direction, std::size_t bytes);
  /// Ends all connections now.
  void CutAll();
  /// Bytes that arrive from now on are passed on so much later.
  void SetDelay(Micros delay);
  /// From now on nothing is passed on, though connections stay.
  void SwallowAll();
  /// Back to normal, for what arrives from now on.
  void BeTransparent();

 private:
  static constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

  struct Chunk {
    SteadyTime due;
    std::string bytes;
  };
  /// One direction of a connection.
  struct Pipe {
    int from;
    int to;
    std::size_t until_cut = kUnlimited;
    std::deque<Chunk> chunks{};
  };
  struct Link {
    Pipe to_server;
    Pipe to_client;
    bool over = false;
  };

  void Run();
  void Accept();
  void Receive(Pipe& pipe, bool& over);
  static void Deliver(Pipe& pipe, bool& over);

  const std::uint16_t server_port_;
  int listener_;
  std::uint16_t port_ = 0;
  std::atomic<int> accepted_{0};
  std::atomic<bool> stopping_{false};

  std::mutex mutex_;  ///< Guards all that follows.
  std::size_t cut_to_server_ = kUnlimited;
  std::size_t cut_to_client_ = kUnlimited;
  Micros delay_{0};
  bool swallows_ = false;
  std::vector<std::unique_ptr<Link>> links_;

  std::thread thread_;
};

}  // namespace sluice::redis::testing
