#include "net/acceptor.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sys/un.h>

namespace sluice::net {
namespace {

using ::testing::HasSubstr;

struct Accepted {
  Fd socket;
  PeerAddress peer;
};

class AcceptorTest : public ::testing::Test {
 protected:
  AcceptorTest() {
    std::string name = std::filesystem::temp_directory_path() / "sluiceXXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~AcceptorTest() override { std::filesystem::remove_all(folder_); }

  Result<std::unique_ptr<Acceptor>> Listen(const ListenOptions& options) {
    return Acceptor::Listen(loop_, options, [this](Fd socket, const PeerAddress& peer) {
      accepted_.push_back({std::move(socket), peer});
    });
  }
  std::unique_ptr<Acceptor> MustListen(const ListenOptions& options) {
    auto acceptor = Listen(options);
    EXPECT_TRUE(acceptor) << acceptor.error().message;
    return acceptor ? *std::move(acceptor) : nullptr;
  }
  ListenAddress OnUnix() { return {.unix_path = folder_ / "socket"}; }

  bool RunUntilAccepted(std::size_t count) {
    return loop_.RunUntil([&] { return accepted_.size() == count; },
                          SteadyClock::Now() + std::chrono::seconds(10));
  }

  static Fd Connect(const char* host, std::uint16_t port) {
    Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    inet_pton(AF_INET, host, &to.sin_addr);
    if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) return Fd();
    return socket;
  }
  static Fd ConnectIpv6(std::uint16_t port) {
    Fd socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    to.sin6_port = htons(port);
    to.sin6_addr = in6addr_loopback;
    if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) return Fd();
    return socket;
  }
  static Fd Connect(const std::string& path) {
    Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    path.copy(to.sun_path, sizeof to.sun_path - 1);
    if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) return Fd();
    return socket;
  }

  std::filesystem::path folder_;
  Loop loop_;
  std::vector<Accepted> accepted_;
};

TEST_F(AcceptorTest, AConnectionIsAcceptedWithItsAddress) {
  const auto acceptor = MustListen({.address = {.host = "127.0.0.1"}});
  ASSERT_NE(acceptor->address().port, 0);
  const Fd client = Connect("127.0.0.1", acceptor->address().port);
  ASSERT_TRUE(client);
  ASSERT_TRUE(RunUntilAccepted(1));
  EXPECT_EQ(accepted_[0].peer.text(), "127.0.0.1");
  EXPECT_NE(accepted_[0].peer.port(), 0);
  int no_delay = 0;
  socklen_t size = sizeof no_delay;
  getsockopt(accepted_[0].socket.get(), IPPROTO_TCP, TCP_NODELAY, &no_delay, &size);
  EXPECT_EQ(no_delay, 1);
  char byte = 0;
  EXPECT_EQ(recv(accepted_[0].socket.get(), &byte, 1, 0), -1);
  EXPECT_EQ(errno, EAGAIN) << "it must not block";
}

TEST_F(AcceptorTest, AnAddressInUseIsNamed) {
  const auto acceptor = MustListen({.address = {.host = "127.0.0.1"}});
  const auto second = Listen({.address = acceptor->address()});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message, "address in use: " + ToText(acceptor->address()));
}

TEST_F(AcceptorTest, AnAddressOfAnotherMachineIsNamed) {
  const auto acceptor = Listen({.address = {.host = "192.0.2.1", .port = 8080}});
  ASSERT_FALSE(acceptor);
  EXPECT_THAT(acceptor.error().message, HasSubstr("can't listen on 192.0.2.1:8080: "));
}

TEST_F(AcceptorTest, EveryAddressMeansIpv4AndIpv6) {
  const auto acceptor = MustListen({.address = {}});
  const Fd ipv4 = Connect("127.0.0.1", acceptor->address().port);
  ASSERT_TRUE(ipv4);
  ASSERT_TRUE(RunUntilAccepted(1));
  EXPECT_EQ(accepted_[0].peer.text(), "127.0.0.1");
  const Fd ipv6 = ConnectIpv6(acceptor->address().port);
  if (!ipv6) GTEST_SKIP() << "no IPv6 here";
  ASSERT_TRUE(RunUntilAccepted(2));
  EXPECT_EQ(accepted_[1].peer.text(), "::1");
}

TEST_F(AcceptorTest, AnIpv6AddressMeansIpv6Only) {
  auto acceptor = Listen({.address = {.host = "::"}});
  if (!acceptor) GTEST_SKIP() << acceptor.error().message;
  EXPECT_FALSE(Connect("127.0.0.1", (*acceptor)->address().port));
}

TEST_F(AcceptorTest, TheBacklogIsAcceptedBeforeItCloses) {
  auto acceptor = MustListen({.address = {.host = "127.0.0.1"}});
  std::vector<Fd> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(Connect("127.0.0.1", acceptor->address().port));
    ASSERT_TRUE(clients.back());
  }
  acceptor->Close();
  EXPECT_EQ(accepted_.size(), 20U);
  EXPECT_EQ(acceptor->counters().accepted.value(), 20U);
  EXPECT_FALSE(Connect("127.0.0.1", acceptor->address().port));
}

TEST_F(AcceptorTest, AUnixSocketsFileComesAndGoes) {
  auto acceptor = MustListen({.address = OnUnix(), .unix_mode = 0600});
  struct stat file{};
  ASSERT_EQ(stat(OnUnix().unix_path.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777U, 0600U);
  const Fd client = Connect(OnUnix().unix_path);
  ASSERT_TRUE(client);
  ASSERT_TRUE(RunUntilAccepted(1));
  EXPECT_EQ(accepted_[0].peer.text(), "unix");
  acceptor.reset();
  EXPECT_FALSE(std::filesystem::exists(OnUnix().unix_path));
}

TEST_F(AcceptorTest, AStaleUnixSocketIsReplaced) {
  {
    const Fd dead(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    OnUnix().unix_path.copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(bind(dead.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(listen(dead.get(), 1), 0);
  }
  ASSERT_TRUE(std::filesystem::exists(OnUnix().unix_path));
  const auto acceptor = MustListen({.address = OnUnix()});
  EXPECT_TRUE(Connect(OnUnix().unix_path));
}

TEST_F(AcceptorTest, AUnixSocketInUseIsNotReplaced) {
  const auto acceptor = MustListen({.address = OnUnix()});
  const auto second = Listen({.address = OnUnix()});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message, "address in use: " + ToText(OnUnix()));
  EXPECT_TRUE(Connect(OnUnix().unix_path));
}

TEST_F(AcceptorTest, AnExistingFileIsNotReplaced) {
  std::ofstream(OnUnix().unix_path) << "precious";
  const auto acceptor = Listen({.address = OnUnix()});
  ASSERT_FALSE(acceptor);
  EXPECT_THAT(acceptor.error().message, HasSubstr("not a socket"));
  EXPECT_TRUE(std::filesystem::exists(OnUnix().unix_path));
}

TEST_F(AcceptorTest, AForeignFileIsNotRemoved) {
  auto first = MustListen({.address = OnUnix()});
  std::filesystem::remove(OnUnix().unix_path);
  const auto second = MustListen({.address = OnUnix()});
  first.reset();
  EXPECT_TRUE(Connect(OnUnix().unix_path));
}

}  // namespace
}  // namespace sluice::net
