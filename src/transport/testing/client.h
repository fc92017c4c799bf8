#pragma once

#include <string>
#include <string_view>

#include "net/address.h"
#include "net/fd.h"

namespace sluice::transport::testing {

/// A client that waits for everything, but not forever.
class Client {
 public:
  /// A socket that is not connected yet.
  explicit Client(const net::ListenAddress& address);
  /// Connected, or not ok().
  static Client To(const net::ListenAddress& address);

  bool Connect();
  [[nodiscard]] bool ok() const { return static_cast<bool>(socket_); }
  [[nodiscard]] int fd() const { return socket_.get(); }

  /// False if the server is gone.
  bool Send(std::string_view text);
  /// So many bytes, or fewer if the connection ends.
  std::string Receive(std::size_t bytes);
  std::string ReceiveLine();
  /// Until the end of the connection. "(timeout)" at the end: it did not come.
  std::string ReceiveAll();
  std::string Ask(const std::string& line) { return Send(line + "\n") ? ReceiveLine() : ""; }

  void EndInput();
  void Close() { socket_.Close(); }
  /// Vanishes without a farewell.
  void Reset();

 private:
  net::ListenAddress address_;
  net::Fd socket_;
};

}  // namespace sluice::transport::testing
