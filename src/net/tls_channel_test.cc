#include "net/tls_channel.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/ssl.h>

#include "base/clock.h"
#include "base/testing/seed.h"
#include "net/testing/certificates.h"

namespace sluice::net {
namespace {

using State = TlsChannel::State;
using testing::TlsClientOptions;

// A client in memory.
class Client {
 public:
  explicit Client(const TlsClientOptions& options) : ssl_(testing::NewTlsClient(options)) {
    from_server_ = BIO_new(BIO_s_mem());
    to_server_ = BIO_new(BIO_s_mem());
    SSL_set_bio(ssl_.get(), from_server_, to_server_);
  }

  [[nodiscard]] SSL* ssl() { return ssl_.get(); }
  // What it wants to send.
  std::string Output() {
    std::string bytes(BIO_ctrl_pending(to_server_), '\0');
    BIO_read(to_server_, bytes.data(), static_cast<int>(bytes.size()));
    return bytes;
  }
  void Receive(std::string_view bytes) {
    BIO_write(from_server_, bytes.data(), static_cast<int>(bytes.size()));
  }
  bool Handshake() { return SSL_do_handshake(ssl_.get()) == 1; }
  std::string Seal(std::string_view plain) {
    EXPECT_EQ(SSL_write(ssl_.get(), plain.data(), static_cast<int>(plain.size())),
              static_cast<int>(plain.size()));
    return Output();
  }
  std::string Read() {
    std::string all;
    std::vector<char> part(20'000);
    for (int size = 0;
         (size = SSL_read(ssl_.get(), part.data(), static_cast<int>(part.size()))) > 0;) {
      all.append(part.data(), static_cast<std::size_t>(size));
    }
    return all;
  }

 private:
  testing::SslPointer ssl_;
  BIO* from_server_;
  BIO* to_server_;
};

class TlsChannelTest : public ::testing::Test {
 protected:
  TlsChannelTest() {
    const auto files = authority_.Issue("server");
    options_.certificate = files.certificate;
    options_.key = files.key;
    room_.resize(TlsChannel::kMaxBuffered + (std::size_t{1} << 20));
  }

  std::unique_ptr<TlsChannel> NewChannel() {
    if (!context_) {
      auto loaded = TlsContext::Load(options_, TheSystemClock().Now());
      EXPECT_TRUE(loaded) << loaded.error().message;
      context_ = *loaded;
    }
    return std::make_unique<TlsChannel>(context_);
  }

  static void Deliver(TlsChannel& channel, Client& client) {
    client.Receive(channel.output());
    channel.Sent(channel.output().size());
  }

  std::string Open(TlsChannel& channel, std::string_view sealed) {
    return std::string(channel.Open(sealed, room_));
  }

  // Until both sides have no more output; returns whether both are established.
  bool Connect(TlsChannel& channel, Client& client) {
    bool connected = false;
    while (true) {
      connected = client.Handshake();
      const std::string bytes = client.Output();
      if (bytes.empty() && channel.output().empty()) break;
      EXPECT_EQ(Open(channel, bytes), "");
      Deliver(channel, client);
    }
    return connected && channel.established();
  }

  void TrustClientsOf(const testing::Authority& authority, ClientCertificates how) {
    options_.client_certificates = how;
    options_.client_ca = authority.certificate();
  }

  testing::Authority authority_;
  TlsServerOptions options_;
  std::shared_ptr<const TlsContext> context_;
  std::vector<char> room_;
};

TEST_F(TlsChannelTest, BothSidesExchangeData) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const auto channel = NewChannel();
    Client client({.ca = authority_.certificate(), .version = version});
    ASSERT_TRUE(Connect(*channel, client));
    EXPECT_EQ(channel->state(), State::kOpen);
    EXPECT_EQ(Open(*channel, client.Seal("question")), "question");
    EXPECT_TRUE(channel->Seal("answer"));
    Deliver(*channel, client);
    EXPECT_EQ(client.Read(), "answer");
  }
}

TEST_F(TlsChannelTest, InputMayBeSplitAnywhere) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::string text(200'000, '\0');
  for (char& c : text) c = static_cast<char>(random());
  for (int round = 0; round < 20; ++round) {
    const auto channel = NewChannel();
    Client client({.version = round % 2 == 0 ? TLS1_2_VERSION : TLS1_3_VERSION});
    std::string got;
    const auto send_in_pieces = [&](std::string_view bytes) {
      const std::size_t longest = round < 4 ? 3 : 40'000;
      while (!bytes.empty()) {
        const std::size_t size = std::min<std::size_t>(1 + random() % longest, bytes.size());
        got += Open(*channel, bytes.substr(0, size));
        bytes.remove_prefix(size);
      }
    };
    while (!client.Handshake() || !channel->established()) {
      send_in_pieces(client.Output());
      Deliver(*channel, client);
    }
    ASSERT_EQ(got, "");
    send_in_pieces(client.Seal(text));
    ASSERT_EQ(got, text);
    // The answer too, sent in several parts.
    ASSERT_TRUE(channel->Seal(text));
    std::string answer;
    while (!channel->output().empty()) {
      const auto part = channel->output().substr(0, 1 + random() % 50'000);
      client.Receive(part);
      channel->Sent(part.size());
      answer += client.Read();
    }
    ASSERT_EQ(answer, text);
  }
}

TEST_F(TlsChannelTest, DataAfterTheHandshakeIsRead) {
  const auto channel = NewChannel();
  Client client({.version = TLS1_3_VERSION});
  client.Handshake();
  Open(*channel, client.Output());
  Deliver(*channel, client);
  ASSERT_TRUE(client.Handshake());
  const std::string finished = client.Output();
  EXPECT_EQ(Open(*channel, finished + client.Seal("hurry")), "hurry");
  EXPECT_TRUE(channel->established());
}

TEST_F(TlsChannelTest, OldVersionsAreRefused) {
  const auto channel = NewChannel();
  Client client({.version = TLS1_1_VERSION});
  EXPECT_FALSE(Connect(*channel, client));
  EXPECT_EQ(channel->state(), State::kFailed);
  EXPECT_EQ(channel->failure(), TlsFailure::kNothingShared);
}

TEST_F(TlsChannelTest, TheMinimumCanBeRaised) {
  options_.minimum = TlsVersion::k13;
  const auto channel = NewChannel();
  Client old({.version = TLS1_2_VERSION});
  EXPECT_FALSE(Connect(*channel, old));
  EXPECT_EQ(channel->failure(), TlsFailure::kNothingShared);
  const auto another = NewChannel();
  Client current({.version = TLS1_3_VERSION});
  EXPECT_TRUE(Connect(*another, current));
}

TEST_F(TlsChannelTest, PlainTextIsReported) {
  options_.plain_answer = "speak TLS\n";
  const auto channel = NewChannel();
  EXPECT_EQ(Open(*channel, "GET / HTTP/1.1\r\n\r\n"), "");
  EXPECT_EQ(channel->state(), State::kFailed);
  EXPECT_EQ(channel->failure(), TlsFailure::kNotTls);
  EXPECT_EQ(channel->output(), "speak TLS\n");
  EXPECT_FALSE(channel->End());
}

TEST_F(TlsChannelTest, GarbageThatBeginsLikeTlsIsRefused) {
  const auto channel = NewChannel();
  Open(*channel, std::string("\x16\x03\x01\x00\x20", 5) + std::string(32, 'x'));
  EXPECT_EQ(channel->state(), State::kFailed);
  EXPECT_EQ(channel->failure(), TlsFailure::kBroken);
}

TEST_F(TlsChannelTest, TamperedRecordsAreRejected) {
  const auto channel = NewChannel();
  Client client({});
  ASSERT_TRUE(Connect(*channel, client));
  std::string sealed = client.Seal("question");
  sealed.back() = static_cast<char>(sealed.back() ^ 1);
  EXPECT_EQ(Open(*channel, sealed), "");
  EXPECT_EQ(channel->state(), State::kFailed);
  EXPECT_TRUE(channel->established());
  EXPECT_FALSE(channel->output().empty()) << "an alert";
}

TEST_F(TlsChannelTest, AClientThatDistrustsTheCertificateAborts) {
  const testing::Authority other("Somebody else");
  const auto channel = NewChannel();
  Client client({.ca = other.certificate()});
  EXPECT_FALSE(Connect(*channel, client));
  EXPECT_EQ(channel->failure(), TlsFailure::kRefused);
}

TEST_F(TlsChannelTest, AClientThatEndsIsStillAnswered) {
  const auto channel = NewChannel();
  Client client({});
  ASSERT_TRUE(Connect(*channel, client));
  const std::string question = client.Seal("question");
  SSL_shutdown(client.ssl());
  EXPECT_EQ(Open(*channel, question + client.Output()), "question");
  EXPECT_EQ(channel->state(), State::kEnded);
  EXPECT_TRUE(channel->Seal("answer"));
  EXPECT_TRUE(channel->End());
  EXPECT_FALSE(channel->End()) << "it has been said";
  Deliver(*channel, client);
  EXPECT_EQ(client.Read(), "answer");
  EXPECT_NE(SSL_get_shutdown(client.ssl()) & SSL_RECEIVED_SHUTDOWN, 0);
}

TEST_F(TlsChannelTest, RenegotiationIsRefused) {
  const auto channel = NewChannel();
  Client client({.version = TLS1_2_VERSION});
  ASSERT_TRUE(Connect(*channel, client));
  SSL_renegotiate(client.ssl());
  client.Handshake();
  Open(*channel, client.Output());
  Deliver(*channel, client);
  EXPECT_FALSE(client.Handshake());
}

TEST_F(TlsChannelTest, TheProtocolIsTheListeners) {
  options_.alpn = {"http/1.1"};
  const auto channel = NewChannel();
  Client client({.alpn = "http/1.1"});
  ASSERT_TRUE(Connect(*channel, client));
  EXPECT_EQ(channel->protocol(), "http/1.1");
  const auto silent = NewChannel();
  Client without({});
  ASSERT_TRUE(Connect(*silent, without));
  EXPECT_EQ(silent->protocol(), "");
  const auto wrong = NewChannel();
  Client other({.alpn = "h2"});
  EXPECT_FALSE(Connect(*wrong, other));
  EXPECT_EQ(wrong->failure(), TlsFailure::kNothingShared);
}

TEST_F(TlsChannelTest, ASessionIsResumedByItsTicket) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const auto channel = NewChannel();
    Client client({.version = version});
    ASSERT_TRUE(Connect(*channel, client));
    EXPECT_FALSE(channel->resumed());
    EXPECT_EQ(client.Read(), "");  // With TLS 1.3 the tickets come after the handshake.
    SSL_SESSION* const session = SSL_get1_session(client.ssl());
    const auto again = NewChannel();
    Client known({.version = version, .session = session});
    ASSERT_TRUE(Connect(*again, known));
    EXPECT_TRUE(again->resumed());
    // Not by another context, as after a reload: whom that one trusts may differ.
    context_.reset();
    const auto reloaded = NewChannel();
    Client late({.version = version, .session = session});
    ASSERT_TRUE(Connect(*reloaded, late));
    EXPECT_FALSE(reloaded->resumed());
    SSL_SESSION_free(session);
  }
}

TEST_F(TlsChannelTest, AClientIsKnownByItsCertificate) {
  TrustClientsOf(authority_, ClientCertificates::kRequired);
  const auto files = authority_.Issue(
      "client", {.common_name = "J\xC3\xB6rg, \"the first\"", .organization = "Acme"});
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const auto channel = NewChannel();
    Client client({.identity = files, .version = version});
    ASSERT_TRUE(Connect(*channel, client));
    EXPECT_EQ(channel->subject().name, "CN=J\\C3\\B6rg\\, \\\"the first\\\",O=Acme");
    EXPECT_EQ(channel->subject().common_name, "J\xC3\xB6rg, \"the first\"");
    client.Read();
    SSL_SESSION* const session = SSL_get1_session(client.ssl());
    const auto again = NewChannel();
    Client known({.version = version, .session = session});
    ASSERT_TRUE(Connect(*again, known));
    EXPECT_TRUE(again->resumed());
    EXPECT_EQ(again->subject().common_name, "J\xC3\xB6rg, \"the first\"");
    SSL_SESSION_free(session);
  }
}

TEST_F(TlsChannelTest, ATicketIsRejectedOnceTheCertificateHasExpired) {
  TrustClientsOf(authority_, ClientCertificates::kRequired);
  const auto files = authority_.Issue("old", {.ends_in_seconds = -1});
  static_cast<void>(NewChannel());
  // Certificates are now verified as of half an hour ago.
  const auto now = std::chrono::system_clock::to_time_t(TheSystemClock().Now());
  X509_VERIFY_PARAM_set_time(SSL_CTX_get0_param(context_->get()), now - 1800);
  const auto channel = NewChannel();
  Client client({.identity = files});
  ASSERT_TRUE(Connect(*channel, client));
  client.Read();
  SSL_SESSION* const session = SSL_get1_session(client.ssl());
  const auto again = NewChannel();
  Client known({.identity = files, .session = session});
  ASSERT_TRUE(Connect(*again, known));
  EXPECT_FALSE(again->resumed());
  SSL_SESSION_free(session);
}

TEST_F(TlsChannelTest, AnUnprintableNameIsIgnored) {
  TrustClientsOf(authority_, ClientCertificates::kRequired);
  const auto channel = NewChannel();
  Client client({.identity = authority_.Issue("odd", {.common_name = "line\nbreak"})});
  ASSERT_TRUE(Connect(*channel, client));
  EXPECT_EQ(channel->subject().name, "CN=line\\0Abreak");
  EXPECT_EQ(channel->subject().common_name, "");
}

TEST_F(TlsChannelTest, ARequiredCertificateThatIsMissingFailsTheHandshake) {
  TrustClientsOf(authority_, ClientCertificates::kRequired);
  const auto channel = NewChannel();
  Client client({.version = TLS1_2_VERSION});
  EXPECT_FALSE(Connect(*channel, client));
  EXPECT_EQ(channel->failure(), TlsFailure::kNoCertificate);
}

TEST_F(TlsChannelTest, AnOptionalCertificateThatIsMissingLeavesTheSubjectEmpty) {
  TrustClientsOf(authority_, ClientCertificates::kOptional);
  const auto channel = NewChannel();
  Client client({});
  ASSERT_TRUE(Connect(*channel, client));
  EXPECT_EQ(channel->subject().name, "");
}

TEST_F(TlsChannelTest, ACertificateOfAnotherAuthorityIsRejected) {
  testing::Authority other("Somebody else");
  for (const auto how : {ClientCertificates::kOptional, ClientCertificates::kRequired}) {
    context_.reset();
    TrustClientsOf(authority_, how);
    const auto channel = NewChannel();
    Client client({.identity = other.Issue("client")});
    EXPECT_FALSE(Connect(*channel, client));
    EXPECT_EQ(channel->failure(), TlsFailure::kBadCertificate);
    const auto strict = NewChannel();
    Client expired({.identity = authority_.Issue("old", {.ends_in_seconds = -1})});
    EXPECT_FALSE(Connect(*strict, expired));
    EXPECT_EQ(strict->failure(), TlsFailure::kBadCertificate);
  }
}

}  // namespace
}  // namespace sluice::net
