#include "transport/testing/client.h"

#include <array>
#include <cerrno>
#include <cstring>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

namespace sluice::transport::testing {
namespace {

constexpr int kTimeoutSeconds = 20;

}  // namespace

Client::Client(const net::ListenAddress& address)
    : address_(address),
      socket_(::socket(address.is_unix()                             ? AF_UNIX
                       : address.host.find(':') != std::string::npos ? AF_INET6
                                                                     : AF_INET,
                       SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const timeval timeout{.tv_sec = kTimeoutSeconds, .tv_usec = 0};
  setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
}

Client Client::To(const net::ListenAddress& address) {
  Client client(address);
  if (!client.Connect()) client.Close();
  return client;
}

bool Client::Connect() {
  if (address_.is_unix()) {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    address_.unix_path.copy(to.sun_path, sizeof to.sun_path - 1);
    return connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  }
  if (address_.host.find(':') != std::string::npos) {
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    to.sin6_port = htons(address_.port);
    inet_pton(AF_INET6, address_.host.c_str(), &to.sin6_addr);
    return connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  }
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(address_.port);
  inet_pton(AF_INET, address_.host.empty() ? "127.0.0.1" : address_.host.c_str(), &to.sin_addr);
  return connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
}

bool Client::Send(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
    if (count < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

std::string Client::Receive(std::size_t bytes) {
  std::string got(bytes, '\0');
  std::size_t size = 0;
  while (size < bytes) {
    const ssize_t count = recv(socket_.get(), got.data() + size, bytes - size, 0);
    if (count <= 0) break;
    size += static_cast<std::size_t>(count);
  }
  got.resize(size);
  return got;
}

std::string Client::ReceiveLine() {
  std::string line;
  while (!line.ends_with('\n')) {
    const std::string byte = Receive(1);
    if (byte.empty()) return line;
    line += byte;
  }
  line.pop_back();
  return line;
}

std::string Client::ReceiveAll() {
  std::string got;
  std::array<char, 65536> buffer{};
  while (true) {
    const ssize_t count = recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (count < 0 && errno == EAGAIN) return got + "(timeout)";
    if (count <= 0) return got;
    got.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

void Client::EndInput() { shutdown(socket_.get(), SHUT_WR); }

void Client::Reset() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  socket_.Close();
}

}  // namespace sluice::transport::testing
