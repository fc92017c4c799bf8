// What connections share: turns of their loop, and memory.

#include <cstddef>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "store/store_queue.h"
#include "transport/testing/client.h"
#include "transport/testing/test_server.h"

namespace sluice::transport {
namespace {

using testing::Client;
using testing::Eventually;
using testing::TestServer;

constexpr std::size_t kMega = std::size_t{1} << 20;

std::string Lines(std::size_t count) {
  std::string lines;
  for (std::size_t i = 0; i < count; ++i) lines += std::to_string(i) + "\n";
  return lines;
}

TEST(TurnShares, AFloodDelaysOthersByNoMoreThanItsShareOfATurn) {
  constexpr std::size_t kShare = 10;
  TestServer server({.loops = 1, .listener_group = {.limits = {.turn_requests = kShare}}});
  // One of the floods is surely read before the other client.
  Client flood = Client::To(server.address());
  Client other = Client::To(server.address());
  Client second_flood = Client::To(server.address());
  for (Client* const client : {&flood, &other, &second_flood}) EXPECT_EQ(client->Ask("x"), "x");
  // The loop stands still until all have sent.
  std::promise<void> standing;
  std::promise<void> all_sent;
  server.loops()[0].Post([&] {
    standing.set_value();
    all_sent.get_future().wait();
  });
  standing.get_future().wait();
  const std::string lines = Lines(5000);
  EXPECT_TRUE(flood.Send(lines));
  EXPECT_TRUE(second_flood.Send(lines));
  EXPECT_TRUE(other.Send("how many?\n"));
  const std::size_t before = server.held().answered;
  all_sent.set_value();
  const std::size_t answered = std::stoul(other.ReceiveLine()) - before;
  // What the floods had in the turn before the other's bytes were seen, and in its own.
  EXPECT_LE(answered, 4 * kShare);
  EXPECT_EQ(flood.Receive(lines.size()), lines) << "in its order, and nothing is lost";
  EXPECT_EQ(second_flood.Receive(lines.size()), lines);
}

TEST(TurnShares, ReceivedRequestsAreAnsweredAfterAHalfClose) {
  TestServer server({.listener_group = {.limits = {.turn_requests = 1}}});
  Client client = Client::To(server.address());
  const std::string lines = Lines(1000);
  EXPECT_TRUE(client.Send(lines));
  client.EndInput();
  EXPECT_EQ(client.ReceiveAll(), lines);
}

TEST(TurnShares, ADrainAnswersReceivedRequests) {
  TestServer server({.listener_group = {.limits = {.turn_requests = 1}}});
  Client client = Client::To(server.address());
  const std::string lines = Lines(1000);
  EXPECT_TRUE(client.Send(lines));
  EXPECT_TRUE(Eventually([&] { return server.held().answered > 0; }));
  server.Drain(std::chrono::seconds(10));
  EXPECT_EQ(client.ReceiveAll(), lines);
  EXPECT_TRUE(Eventually([&] { return server.drained(); }));
}

TEST(StoreShares, AConnectionIsNotReadBeyondItsShareAndAnotherIs) {
  store::StoreQueue queue(std::chrono::milliseconds(25));
  TestServer server({.loops = 1, .queue = &queue});
  Client flood = Client::To(server.address());
  std::string holds;
  for (int i = 0; i < 1000; ++i) holds += "hold\n";
  EXPECT_TRUE(flood.Send(holds));
  constexpr std::size_t kLimit = store::StoreQueue::kFirstLimit;
  EXPECT_TRUE(Eventually([&] { return server.held().size() == kLimit; }));
  // Turns later it is still not more.
  Client other = Client::To(server.address());
  for (int i = 0; i < 10; ++i) EXPECT_EQ(other.Ask("x"), "x");
  EXPECT_EQ(server.held().size(), kLimit);
  while (server.held().answered < 1010) {
    EXPECT_LE(server.held().size(), kLimit);
    server.held().Release();
  }
  server.held().Release();
  EXPECT_EQ(flood.Receive(5 * 1000).size(), 5 * 1000U);
}

TEST(StoreShares, WhenTheQueueIsFullNewConnectionsWaitAndAreServedEventually) {
  store::StoreQueue queue(std::chrono::milliseconds(25));
  TestServer server({.loops = 1, .queue = &queue});
  constexpr std::size_t kMost = 2 * store::StoreQueue::kFirstLimit;
  std::vector<Client> clients;
  for (std::size_t i = 0; i < kMost + 50; ++i) {
    clients.push_back(Client::To(server.address()));
    EXPECT_TRUE(clients.back().Send("hold\n"));
  }
  EXPECT_TRUE(Eventually([&] { return server.totals().open() == kMost + 50; }));
  EXPECT_TRUE(Eventually([&] { return server.held().size() == kMost; }));
  server.held().Release();
  EXPECT_TRUE(Eventually([&] { return server.held().size() == 50; }));
  server.held().Release();
  for (Client& client : clients) EXPECT_EQ(client.ReceiveLine(), "held");
}

// Clients whose kernels take little.
Client Reluctant(const net::ListenAddress& address) {
  Client client(address);
  const int small = 4096;
  setsockopt(client.fd(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  EXPECT_TRUE(client.Connect());
  return client;
}

TEST(SharedMemory, ManySlowReadersStayWithinTheMemoryBudget) {
  constexpr std::size_t kBound = 40 * kMega;
  TestServer server({.memory = kBound});
  std::vector<Client> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(Reluctant(server.address()));
    EXPECT_TRUE(clients.back().Send("big 12000000\n"));
  }
  EXPECT_TRUE(
      Eventually([&] { return server.totals().bounds_exceeded[ResourceBound::kMemory] > 0; }));
  EXPECT_TRUE(Eventually([&] { return server.memory().used() <= kBound; }));
  EXPECT_TRUE(Eventually([&] { return server.held().answered == 20; }));
  EXPECT_TRUE(Eventually([&] { return server.memory().used() <= kBound; }));
  EXPECT_EQ(server.totals().bounds_exceeded[ResourceBound::kOutputBuffer], 0U);
  EXPECT_GT(server.totals().open(), 0U) << "not more are closed than must be";
  EXPECT_EQ(Client::To(server.address()).Ask("still there"), "still there");
}

TEST(SharedMemory, TheLargestConnectionOfAllLoopsIsClosedFirst) {
  TestServer server({.loops = 3, .memory = 24 * kMega});
  std::vector<Client> clients;
  for (int i = 0; i < 5; ++i) {
    clients.push_back(Reluctant(server.address()));
    EXPECT_TRUE(clients.back().Send("big 4100000\n"));
  }
  EXPECT_TRUE(Eventually([&] { return server.held().answered == 5; }));
  Client largest = Reluctant(server.address());
  EXPECT_TRUE(largest.Send("big 14000000\n"));
  EXPECT_TRUE(Eventually([&] { return server.held().answered == 6; }));
  clients.push_back(Reluctant(server.address()));
  EXPECT_TRUE(clients.back().Send("big 4100000\n"));
  EXPECT_TRUE(
      Eventually([&] { return server.totals().bounds_exceeded[ResourceBound::kMemory] == 1; }));
  EXPECT_LT(largest.ReceiveAll().size(), 14'000'000U);
  for (Client& client : clients) EXPECT_EQ(client.Receive(4'100'000).size(), 4'100'000U);
}

TEST(SharedMemory, AClosedConnectionReleasesItsBudget) {
  TestServer server({.memory = 100 * kMega});
  {
    Client client = Reluctant(server.address());
    EXPECT_TRUE(client.Send("big 12000000\n"));
    EXPECT_TRUE(Eventually([&] { return server.memory().used() > 2 * kMega; }));
  }
  EXPECT_TRUE(Eventually([&] { return server.memory().used() == 0; }));
}

}  // namespace
}  // namespace sluice::transport
