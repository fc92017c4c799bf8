#pragma once

#include <functional>
#include <memory>
#include <optional>

#include <sys/stat.h>

#include <sluice/result.h>

#include "base/counter.h"
#include "net/address.h"
#include "net/fd.h"
#include "net/loop.h"
#include "net/timer.h"

namespace sluice::net {

struct ListenOptions {
  ListenAddress address{};
  int backlog = 4096;                 ///< Also limited by the kernel (net.core.somaxconn).
  std::optional<mode_t> unix_mode{};  ///< Mode of a Unix socket's file; not set: by the umask.
};

/// Written on the loop's thread.
struct AcceptorCounters {
  Counter accepted{};
  Counter fd_limit{};  ///< Connections closed immediately, or left in the backlog, without a free
                       ///< file descriptor.
  Counter failed{};    ///< Other errors of accept; usually clients that disconnected early.
};

/// Listens on one address and accepts connections. Lives on its loop's thread.
///
/// Without a free file descriptor, it uses a reserved one to accept and close the connection, so
/// that clients notice and the loop does not spin. If that fails, too, it retries after a pause.
class Acceptor final : private Watcher {
 public:
  /// Receives a socket that is non-blocking, close-on-exec, and has TCP_NODELAY.
  using OnAccept = std::function<void(Fd socket, const PeerAddress& peer)>;

  /// Starts listening; accepts once the loop runs. Replaces the file of a Unix socket without a
  /// listener; other conflicts are errors, such as "address in use: 127.0.0.1:8080".
  static Result<std::unique_ptr<Acceptor>> Listen(Loop& loop, const ListenOptions& options,
                                                  OnAccept on_accept);
  /// Closes.
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  /// The actual address, if port 0 was requested.
  [[nodiscard]] const ListenAddress& address() const { return address_; }

  /// Accepts the connections in the backlog, stops listening, and removes the Unix socket's file.
  void Close();

  [[nodiscard]] const AcceptorCounters& counters() const { return counters_; }

 private:
  struct Bound;
  static Result<Bound> Bind(const ListenOptions& options);

  Acceptor(Loop& loop, Bound bound, OnAccept on_accept);
  void OnReady(std::uint32_t events) override;
  bool AcceptOne();
  bool OnError(int error);
  bool TurnAwayOne();
  void Pause();
  void Resume();

  Loop& loop_;
  Fd socket_;
  ListenAddress address_;
  struct stat file_{};  // Identifies the Unix socket's file, to remove only our own.
  OnAccept on_accept_;
  Fd reserve_;
  Timer retry_;
  bool paused_ = false;
  AcceptorCounters counters_;
};

}  // namespace sluice::net
