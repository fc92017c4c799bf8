#include "transport/listener_group.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "net/signals.h"
#include "transport/testing/client.h"
#include "transport/testing/test_server.h"

namespace sluice::transport {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Client;
using ::testing::ElementsAre;
using testing::Eventually;
using testing::TestServer;

class Folder {
 public:
  Folder() {
    std::string name = std::filesystem::temp_directory_path() / "sluiceXXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string operator/(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

TEST(ListenerGroupTest, ConnectionsGoToTheLoopsInTurn) {
  TestServer server({.loops = 3});
  std::vector<Client> clients;
  std::vector<std::string> loops;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(Client::To(server.address()));
    loops.push_back(clients.back().Ask("which loop?"));
  }
  EXPECT_THAT(loops, ElementsAre("0", "1", "2", "0", "1", "2"));
}

TEST(ListenerGroupTest, ThousandsOfConnectionsAreServed) {
  const std::size_t count = std::min<std::size_t>(2000, net::RaiseFileLimit() / 2 - 100);
  TestServer server;
  std::vector<Client> clients;
  for (std::size_t i = 0; i < count; ++i) clients.push_back(Client::To(server.address()));
  for (std::size_t i = 0; i < count; ++i) ASSERT_TRUE(clients[i].Send(std::to_string(i) + "\n"));
  for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(clients[i].ReceiveLine(), std::to_string(i));
  EXPECT_EQ(server.totals().open(), count);
  clients.clear();
  EXPECT_TRUE(Eventually([&] { return server.totals().open() == 0; }));
  EXPECT_EQ(server.admission().size(), 0U);
  EXPECT_EQ(server.admission().addresses(), 0U);
}

TEST(ListenerGroupTest, ConnectionsBeyondTheLimitGetARefusalAndAreClosed) {
  TestServer server({.listener_group = {.refusal = "no room\n"}, .admission = {.connections = 2}});
  Client first = Client::To(server.address());
  Client second = Client::To(server.address());
  EXPECT_EQ(first.Ask("a"), "a");
  EXPECT_EQ(second.Ask("b"), "b");
  EXPECT_EQ(Client::To(server.address()).ReceiveAll(), "no room\n");
  EXPECT_EQ(server.totals().refused[Refusal::kMaxConnections], 1U);
  first.Close();
  EXPECT_TRUE(Eventually([&] { return server.admission().size() == 1; }));
  EXPECT_EQ(Client::To(server.address()).Ask("c"), "c");
}

TEST(ListenerGroupTest, ConnectionsBeyondTheLimitPerAddressAreClosed) {
  const Folder folder;
  TestServer server({.listener_group = {.refusal = "too many\n"}, .admission = {.per_address = 2}});
  const auto on_unix = server.ListenToo({.address = {.unix_path = folder / "socket"}});
  std::vector<Client> clients;
  for (int i = 0; i < 2; ++i) {
    clients.push_back(Client::To(server.address()));
    EXPECT_EQ(clients.back().Ask("a"), "a");
  }
  EXPECT_EQ(Client::To(server.address()).ReceiveAll(), "too many\n");
  EXPECT_EQ(server.totals().refused[Refusal::kMaxPerAddress], 1U);
  for (int i = 0; i < 4; ++i) clients.push_back(Client::To(on_unix));
  EXPECT_EQ(clients.back().Ask("no address"), "no address");
}

testing::TestServerOptions WithReserve(std::size_t reserved) {
  return {.loops = 1,
          .listener_group = {.refusal = "no room\n", .reserved = reserved},
          .admission = {.connections = 1, .reserved = reserved}};
}

TEST(ReserveTest, BeyondTheLimitsOnlyOperatorsAreAnsweredAndOnce) {
  TestServer server(WithReserve(4));
  Client inside = Client::To(server.address());
  EXPECT_EQ(inside.Ask("a"), "a");
  Client probe = Client::To(server.address());
  EXPECT_TRUE(probe.Send("health\nhealth\n"));
  EXPECT_EQ(probe.ReceiveAll(), "health\n");
  Client other = Client::To(server.address());
  EXPECT_TRUE(other.Send("a\n"));
  EXPECT_EQ(other.ReceiveAll(), "no room\n");
  probe.Close();
  other.Close();
  EXPECT_TRUE(Eventually([&] { return server.totals().open() == 1; }));
  EXPECT_EQ(server.totals().reserved, 1U);
  EXPECT_EQ(server.totals().refused[Refusal::kMaxConnections], 1U);
  EXPECT_EQ(inside.Ask("b"), "b");
}

TEST(ReserveTest, SilentConnectionsDoNotLockOperatorsOut) {
  TestServer server(WithReserve(4));
  Client inside = Client::To(server.address());
  EXPECT_EQ(inside.Ask("a"), "a");
  std::vector<Client> silent;
  for (int i = 0; i < 50; ++i) {
    silent.push_back(Client::To(server.address()));
    if (i % 10 != 9) continue;
    EXPECT_EQ(Client::To(server.address()).Ask("health"), "health") << i;
  }
  EXPECT_TRUE(Eventually([&] { return server.totals().open() <= 5; }));
  EXPECT_EQ(silent.front().ReceiveAll(), "no room\n") << "the oldest has given way";
}

TEST(ReserveTest, AConnectionThatIsBeingAnsweredIsTheLastToBeReplaced) {
  TestServer server(WithReserve(3));
  Client inside = Client::To(server.address());
  EXPECT_EQ(inside.Ask("a"), "a");
  Client busy = Client::To(server.address());
  EXPECT_TRUE(busy.Send("hold\n"));
  EXPECT_TRUE(Eventually([&] { return server.held().size() == 1; }));
  std::vector<Client> silent;
  for (int i = 0; i < 20; ++i) silent.push_back(Client::To(server.address()));
  EXPECT_EQ(silent[5].ReceiveAll(), "no room\n");
  server.held().Release();
  EXPECT_EQ(busy.ReceiveAll(), "held\n");
}

TEST(ListenerGroupTest, UnixSocketsAreServed) {
  const Folder folder;
  TestServer server;
  const auto address =
      server.ListenToo({.address = {.unix_path = folder / "socket"}, .unix_mode = 0620});
  Client client = Client::To(address);
  EXPECT_EQ(client.Ask("hello"), "hello");
  struct stat file{};
  EXPECT_EQ(stat((folder / "socket").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777U, 0620U);
  std::string lines;
  for (int i = 0; i < 100'000; ++i) lines += std::to_string(i) + "\n";
  std::thread writer([&] { EXPECT_TRUE(client.Send(lines)); });
  EXPECT_EQ(client.Receive(lines.size()), lines);
  writer.join();
  server.Drain(seconds(10));
  EXPECT_EQ(client.ReceiveAll(), "");
  client.Close();
  EXPECT_TRUE(Eventually([&] { return server.drained(); }));
  EXPECT_FALSE(std::filesystem::exists(folder / "socket"));
}

TEST(DrainTest, RequestsUnderWayAreAnsweredAndIdleConnectionsClosed) {
  TestServer server;
  Client idle = Client::To(server.address());
  EXPECT_EQ(idle.Ask("hello"), "hello");
  Client busy = Client::To(server.address());
  EXPECT_TRUE(busy.Send("hold\n"));
  Client half = Client::To(server.address());
  EXPECT_EQ(half.Ask("one"), "one");
  EXPECT_TRUE(half.Send("two"));
  EXPECT_TRUE(
      Eventually([&] { return server.held().size() == 1 && server.totals().bytes_in == 18; }));
  server.Drain(seconds(20));
  EXPECT_EQ(idle.ReceiveAll(), "");
  EXPECT_FALSE(Client::To(server.address()).ok()) << "there should be no listener";
  EXPECT_FALSE(server.drained());
  EXPECT_TRUE(half.Send("\n"));
  EXPECT_EQ(half.ReceiveAll(), "two\n");
  server.held().Release();
  EXPECT_EQ(busy.ReceiveAll(), "held\n");
  idle.Close();
  busy.Close();
  half.Close();
  EXPECT_TRUE(Eventually([&] { return server.drained(); }));
  EXPECT_EQ(server.totals().cut, 0U);
}

TEST(DrainTest, TheBacklogIsServedFirst) {
  TestServer server;
  std::vector<Client> clients;
  server.main().Do([&] {  // So no connection is accepted meanwhile.
    for (int i = 0; i < 100; ++i) clients.push_back(Client::To(server.address()));
    // Some have asked already, some are about to.
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(clients[static_cast<std::size_t>(i)].Send("now\n"));
    server.listener_group().Drain(server.main().loop().Now() + seconds(20), [] {});
  });
  for (std::size_t i = 50; i < 100; ++i) EXPECT_TRUE(clients[i].Send("now\n"));
  for (Client& client : clients) EXPECT_EQ(client.ReceiveAll(), "now\n");
}

TEST(DrainTest, AtTheDeadlineTheRestIsClosed) {
  TestServer server;
  Client busy = Client::To(server.address());
  EXPECT_TRUE(busy.Send("hold\n"));
  EXPECT_TRUE(Eventually([&] { return server.held().size() == 1; }));
  server.Drain(milliseconds(30));
  EXPECT_EQ(busy.ReceiveAll(), "");
  EXPECT_TRUE(Eventually([&] { return server.drained(); }));
  EXPECT_EQ(server.totals().cut, 1U);
}

TEST(DrainTest, AnEmptyServerIsDrainedImmediately) {
  TestServer server;
  server.Drain(seconds(1000));
  EXPECT_TRUE(Eventually([&] { return server.drained(); }));
}

// What fails says so and ends the child.
void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::_Exit(1);
}

// With room for ten connections; the clients' sockets are there before.
void ServeAtTheFileLimit() {
  TestServer server;
  std::vector<Client> clients;
  for (int i = 0; i < 30; ++i) clients.emplace_back(server.address());
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = static_cast<rlim_t>(dup(0)) + 10;
  setrlimit(RLIMIT_NOFILE, &limit);
  std::size_t served = 0;
  for (Client& client : clients) {
    Require(client.Connect(), "connects");
    if (client.Ask("hello") == "hello") {
      ++served;
    } else {
      client.Close();
    }
  }
  Require(served >= 5 && served < 30, "some are served, some are turned away");
  Require(server.totals().refused[Refusal::kNoDescriptors] >= 30 - served, "and counted");
  for (Client& client : clients) {
    if (client.ok()) Require(client.Ask("still") == "still", "accepted clients are served");
  }
  clients.clear();
  Require(Eventually([&] { return server.totals().open() == 0; }), "they leave");
  Require(Client::To(server.address()).Ask("again") == "again", "others can come");
}

TEST(ListenerGroupDeathTest, AtItsFileLimitTheServerKeepsServing) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        ServeAtTheFileLimit();
        std::_Exit(0);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace sluice::transport
