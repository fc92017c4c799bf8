#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include "base/clock.h"
#include "net/testing/certificates.h"
#include "transport/testing/client.h"
#include "transport/testing/test_server.h"

namespace sluice::transport {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Client;
using testing::Eventually;
using testing::TestServer;
using testing::TestServerOptions;

// A client that waits, with TLS.
class TlsClient {
 public:
  TlsClient(const net::ListenAddress& address, const net::testing::TlsClientOptions& options)
      : socket_(Client::To(address)), ssl_(net::testing::NewTlsClient(options)) {
    SSL_set_fd(ssl_.get(), socket_.fd());
    connected_ = SSL_connect(ssl_.get()) == 1;
  }

  [[nodiscard]] bool connected() const { return connected_; }
  [[nodiscard]] Client& socket() { return socket_; }

  bool Send(std::string_view text) {
    return SSL_write(ssl_.get(), text.data(), static_cast<int>(text.size())) ==
           static_cast<int>(text.size());
  }
  std::string Receive(std::size_t bytes) {
    std::string got(bytes, '\0');
    std::size_t size = 0;
    while (size < bytes) {
      const int count = SSL_read(ssl_.get(), got.data() + size, static_cast<int>(bytes - size));
      if (count <= 0) break;
      size += static_cast<std::size_t>(count);
    }
    got.resize(size);
    return got;
  }
  std::string Ask(const std::string& line) {
    if (!Send(line + "\n")) return "(not sent)";
    std::string answer;
    while (!answer.ends_with('\n')) {
      const std::string byte = Receive(1);
      if (byte.empty()) return answer + "(end)";
      answer += byte;
    }
    answer.pop_back();
    return answer;
  }
  void SayFarewell() { SSL_shutdown(ssl_.get()); }
  // Whether the server has said it, and not just gone.
  [[nodiscard]] bool HeardFarewell() const {
    return (SSL_get_shutdown(ssl_.get()) & SSL_RECEIVED_SHUTDOWN) != 0;
  }
  // Of the server's certificate.
  [[nodiscard]] std::string ServerName() const {
    char name[256] = "";
    X509_NAME_get_text_by_NID(X509_get_subject_name(SSL_get0_peer_certificate(ssl_.get())),
                              NID_commonName, name, sizeof name);
    return name;
  }

 private:
  Client socket_;
  net::testing::SslPointer ssl_;
  bool connected_ = false;
};

class TlsConnectionsTest : public ::testing::Test {
 protected:
  std::shared_ptr<const net::TlsContext> Context(net::TlsServerOptions options = {},
                                                 const std::string& name = "server.test") {
    const auto files = authority_.Issue("server", {.common_name = name});
    options.certificate = files.certificate;
    options.key = files.key;
    const auto loaded = net::TlsContext::Load(options, TheSystemClock().Now());
    EXPECT_TRUE(loaded) << loaded.error().message;
    return *loaded;
  }
  TestServerOptions WithTls(const net::TlsServerOptions& tls = {},
                            const std::string& name = "server.test") {
    TestServerOptions options;
    options.tls = Context(tls, name);
    return options;
  }
  TestServerOptions WithLimits(const ConnectionLimits& limits) {
    TestServerOptions options = WithTls();
    options.listener_group.limits = limits;
    return options;
  }
  TlsClient Connect(const TestServer& server) {
    return {server.address(), {.ca = authority_.certificate()}};
  }
  static std::uint64_t Handshakes(const TestServer& server, TlsHandshake result) {
    return server.totals().tls.handshakes[result];
  }

  net::testing::Authority authority_;
};

TEST_F(TlsConnectionsTest, EachLineIsAnswered) {
  TestServer server(WithTls());
  TlsClient client = Connect(server);
  ASSERT_TRUE(client.connected());
  EXPECT_EQ(client.Ask("one"), "one");
  EXPECT_EQ(client.Ask("two"), "two");
  EXPECT_EQ(Handshakes(server, TlsHandshake::kDone), 1U);
  EXPECT_GT(server.totals().bytes_in, 100U) << "of what really came";
}

TEST_F(TlsConnectionsTest, PipelinedLinesAreAnsweredInOrder) {
  TestServer server(WithTls());
  TlsClient client = Connect(server);
  std::string lines;
  for (int i = 0; i < 100'000; ++i) lines += std::to_string(i) + "\n";
  EXPECT_TRUE(client.Send(lines));
  EXPECT_EQ(client.Receive(lines.size()), lines);
}

TEST_F(TlsConnectionsTest, ALargeAnswerArrivesWhole) {
  TestServer server(WithTls());
  TlsClient client = Connect(server);
  EXPECT_TRUE(client.Send("big 15000000\n"));
  EXPECT_EQ(client.Receive(15'000'000), std::string(15'000'000, 'x'));
  EXPECT_EQ(client.Ask("and now?"), "and now?");
}

TEST_F(TlsConnectionsTest, AnAnswerThatComesLaterIsWritten) {
  TestServer server(WithTls());
  TlsClient client = Connect(server);
  EXPECT_TRUE(client.Send("hold\nnow\n"));
  EXPECT_EQ(client.Receive(4), "now\n");
  server.held().Release();
  EXPECT_EQ(client.Receive(5), "held\n");
}

TEST_F(TlsConnectionsTest, ASessionThatEndsSendsCloseNotify) {
  TestServer server(WithTls());
  TlsClient client = Connect(server);
  EXPECT_TRUE(client.Send("one\nquit\n" + std::string(1 << 20, 'x')));
  EXPECT_EQ(client.Receive(100), "one\nbye\n");
  EXPECT_TRUE(client.HeardFarewell());
  client.socket().Close();
  EXPECT_TRUE(Eventually([&] { return server.totals().open() == 0; }));
}

TEST_F(TlsConnectionsTest, AClientThatSentCloseNotifyGetsItsResponses) {
  TestServer server(WithTls());
  TlsClient client = Connect(server);
  EXPECT_TRUE(client.Send("one\nhold\n"));
  client.SayFarewell();
  EXPECT_EQ(client.Receive(4), "one\n");
  EXPECT_TRUE(Eventually([&] { return server.held().size() == 1; }));
  server.held().Release();
  EXPECT_EQ(client.Receive(100), "held\n");
  EXPECT_TRUE(client.HeardFarewell());
  EXPECT_TRUE(Eventually([&] { return server.totals().open() == 0; }));
}

TEST_F(TlsConnectionsTest, AClientMayHalfCloseWithoutCloseNotify) {
  TestServer server(WithTls());
  TlsClient client = Connect(server);
  EXPECT_TRUE(client.Send("one\n"));
  client.socket().EndInput();
  EXPECT_EQ(client.Receive(100), "one\n");
  EXPECT_TRUE(Eventually([&] { return server.totals().open() == 0; }));
}

TEST_F(TlsConnectionsTest, AClientMayVanishInTheMiddleOfALargeAnswer) {
  TestServer server(WithTls());
  TlsClient client = Connect(server);
  EXPECT_TRUE(client.Send("big 15000000\n"));
  EXPECT_EQ(client.Receive(10), "xxxxxxxxxx");
  client.socket().Reset();
  EXPECT_TRUE(Eventually([&] { return server.totals().open() == 0; }));
  EXPECT_EQ(server.totals().reset, 1U);
}

TEST_F(TlsConnectionsTest, MoreOutputThanAllowedEndsTheConnection) {
  TestServer server(WithLimits({.soft_output_bytes = 1 << 10, .hard_output_bytes = 1 << 20}));
  TlsClient client = Connect(server);
  EXPECT_TRUE(client.Send("big 50000000\n"));
  EXPECT_TRUE(Eventually(
      [&] { return server.totals().bounds_exceeded[ResourceBound::kOutputBuffer] == 1; }));
}

TEST_F(TlsConnectionsTest, ASlowHandshakeTimesOut) {
  TestServer server(WithLimits({.request_timeout = milliseconds(20)}));
  Client silent = Client::To(server.address());
  EXPECT_EQ(silent.ReceiveAll(), "");
  Client slow = Client::To(server.address());
  EXPECT_TRUE(slow.Send({"\x16\x03\x01\x02", 4}));
  EXPECT_EQ(slow.ReceiveAll(), "");
  EXPECT_TRUE(Eventually([&] { return Handshakes(server, TlsHandshake::kTimeout) == 2; }));
  EXPECT_EQ(server.totals().bounds_exceeded[ResourceBound::kSlowRequest], 2U);
}

TEST_F(TlsConnectionsTest, AnAddressThatBeginsTooManyHandshakesWaitsAndIsServedThen) {
  TestServerOptions options = WithTls();
  options.loops = 1;
  // One a second: the budget must not have come back when the good client comes.
  options.admission.handshakes_per_address = 1;
  TestServer server(options);
  Client unfinished = Client::To(server.address());
  EXPECT_TRUE(unfinished.Send({"\x16\x03\x01\x02", 4}));
  EXPECT_TRUE(Eventually([&] { return server.totals().bytes_in >= 4; }));
  TlsClient good = Connect(server);
  ASSERT_TRUE(good.connected());
  EXPECT_EQ(server.totals().tls.delayed, 1U);
  EXPECT_EQ(good.Ask("a"), "a");
}

TEST_F(TlsConnectionsTest, HandshakesThatSucceedNeedNoBudget) {
  TestServerOptions options = WithTls();
  options.admission.handshakes_per_address = 2;
  TestServer server(options);
  std::vector<TlsClient> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(Connect(server));
    ASSERT_EQ(clients.back().Ask("a"), "a");
  }
  EXPECT_EQ(server.totals().tls.delayed, 0U);
}

TEST_F(TlsConnectionsTest, BeyondTheBoundsOperatorsAreAnsweredWithTlsToo) {
  TestServerOptions options = WithTls();
  options.listener_group.reserved = 2;
  options.admission.connections = 1;
  options.admission.reserved = 2;
  TestServer server(options);
  TlsClient inside = Connect(server);
  EXPECT_EQ(inside.Ask("a"), "a");
  TlsClient probe = Connect(server);
  ASSERT_TRUE(probe.connected());
  EXPECT_EQ(probe.Ask("health"), "health");
  TlsClient other = Connect(server);
  EXPECT_EQ(other.Ask("a"), "no room");
}

TEST_F(TlsConnectionsTest, AnAbandonedHandshakeIsCounted) {
  TestServer server(WithTls());
  Client client = Client::To(server.address());
  client.Close();
  EXPECT_TRUE(Eventually([&] { return Handshakes(server, TlsHandshake::kAbandoned) == 1; }));
}

TEST_F(TlsConnectionsTest, AnIdleClientIsDisconnected) {
  TestServer server(WithLimits({.idle_timeout = milliseconds(20)}));
  TlsClient client = Connect(server);
  EXPECT_EQ(client.Receive(1), "");
  EXPECT_TRUE(
      Eventually([&] { return server.totals().bounds_exceeded[ResourceBound::kIdle] == 1; }));
}

TEST_F(TlsConnectionsTest, PlainTextIsAnsweredAndTheConnectionClosed) {
  TestServer server(WithTls({.plain_answer = "speak TLS\n"}));
  Client client = Client::To(server.address());
  EXPECT_TRUE(client.Send("hello\n"));
  EXPECT_EQ(client.ReceiveAll(), "speak TLS\n");
  EXPECT_EQ(Handshakes(server, TlsHandshake::kNotTls), 1U);
}

TEST_F(TlsConnectionsTest, AnInvalidRecordClosesTheConnection) {
  TestServer server(WithTls());
  TlsClient client = Connect(server);
  EXPECT_EQ(client.Ask("one"), "one");
  EXPECT_TRUE(client.socket().Send("this is not sealed"));
  EXPECT_EQ(client.Receive(1), "");
  EXPECT_TRUE(Eventually([&] { return server.totals().tls.broken == 1; }));
  EXPECT_TRUE(Eventually([&] { return server.totals().open() == 0; }));
}

TEST_F(TlsConnectionsTest, TheSessionKnowsTheClientsSubject) {
  TestServer server(WithTls({.client_certificates = net::ClientCertificates::kOptional,
                             .client_ca = authority_.certificate()}));
  TlsClient known(server.address(),
                  {.identity = authority_.Issue("client", {.common_name = "alice"})});
  EXPECT_EQ(known.Ask("who am I?"), "CN=alice");
  TlsClient unknown = Connect(server);
  EXPECT_EQ(unknown.Ask("who am I?"), "");
}

TEST_F(TlsConnectionsTest, ANewCertificateAppliesToNewConnections) {
  TestServer server(WithTls({}, "before"));
  TlsClient old = Connect(server);
  EXPECT_EQ(old.ServerName(), "before");
  server.UseTls(Context({}, "after"));
  TlsClient fresh = Connect(server);
  EXPECT_EQ(fresh.ServerName(), "after");
  EXPECT_EQ(old.Ask("still there"), "still there");
  EXPECT_EQ(fresh.Ask("me too"), "me too");
}

TEST_F(TlsConnectionsTest, PlainListenersStayPlain) {
  TestServer server(WithTls());
  const auto plain = server.ListenToo({.address = {.host = "127.0.0.1"}});
  EXPECT_EQ(Client::To(plain).Ask("one"), "one");
  EXPECT_EQ(Connect(server).Ask("two"), "two");
}

TEST_F(TlsConnectionsTest, ADrainAnswersPendingRequests) {
  TestServer server(WithTls());
  TlsClient client = Connect(server);
  EXPECT_TRUE(client.Send("hold\n"));
  EXPECT_TRUE(Eventually([&] { return server.held().size() == 1; }));
  server.Drain(seconds(20));
  server.held().Release();
  EXPECT_EQ(client.Receive(100), "held\n");
  EXPECT_TRUE(client.HeardFarewell());
  client.socket().Close();
  EXPECT_TRUE(Eventually([&] { return server.drained(); }));
}

TEST_F(TlsConnectionsTest, ADrainDoesNotWaitForAHandshake) {
  TestServer server(WithTls());
  Client client = Client::To(server.address());
  EXPECT_TRUE(Eventually([&] { return server.totals().accepted == 1; }));
  server.Drain(seconds(20));
  EXPECT_EQ(client.ReceiveAll(), "");
  EXPECT_TRUE(Eventually([&] { return server.drained(); }));
  EXPECT_EQ(Handshakes(server, TlsHandshake::kAbandoned), 1U);
}

}  // namespace
}  // namespace sluice::transport
