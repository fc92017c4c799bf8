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
  int backlog = 4096;                 ///< The kernel has its own bound, net.core.somaxconn.
  std::optional<mode_t> unix_mode{};  ///< The mode of a Unix socket's file, else as the umask says.
};

/// Written on the loop's thread.
struct AcceptorCounters {
  Counter accepted{};
  Counter fd_limit{};  ///< Connections closed at once, or left waiting, for want of a descriptor.
  Counter failed{};    ///< Other errors of accept; most are clients that left in the meantime.
};

/// Listens on one address and accepts connections. Lives on its loop's thread.
///
/// Without a free file descriptor it gives up one that it keeps for that, to take the connection
/// and close it: clients learn at once, and nothing spins. Where even that fails, it looks again a
/// moment later.
class Acceptor final : private Watcher {
 public:
  /// Gets a socket that does not block, does not delay small writes, and is closed on exec.
  using OnAccept = std::function<void(Fd socket, const PeerAddress& peer)>;

  /// Listens from now on, and accepts once the loop runs. The file of a Unix socket without a
  /// listens on any more is replaced; anything else that is in the way is an error, as in
  /// "address in use: 127.0.0.1:8080".
  static Result<std::unique_ptr<Acceptor>> Listen(Loop& loop, const ListenOptions& options,
                                                  OnAccept on_accept);
  /// Closes.
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  /// The real one, where port 0 was asked for.
  [[nodiscard]] const ListenAddress& address() const { return address_; }

  /// Accepts who has been waiting, then listens no more and removes the Unix socket's file.
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
  struct stat file_{};  // Of the Unix socket: another's is not ours to remove.
  OnAccept on_accept_;
  Fd reserve_;
  Timer retry_;
  bool paused_ = false;
  AcceptorCounters counters_;
};

}  // namespace sluice::net
