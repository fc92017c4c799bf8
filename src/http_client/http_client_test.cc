#include "http_client/http_client.h"

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>
#include <httplib.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/testing/certificates.h"

namespace sluice::http_client {
namespace {

/// A server on a free port of this machine, until it is destroyed.
template <typename Server>
class TestServerOf {
 public:
  template <typename... Arguments>
  explicit TestServerOf(const Arguments&... arguments)
      : server(arguments...),
        port_(server.bind_to_any_port("127.0.0.1")),
        thread_([this] { server.listen_after_bind(); }) {
    while (!server.is_running()) std::this_thread::yield();
  }
  ~TestServerOf() {
    server.stop();
    thread_.join();
  }

  [[nodiscard]] std::string url() const {
    const bool tls = std::is_same_v<Server, httplib::SSLServer>;
    return (tls ? "https://localhost:" : "http://127.0.0.1:") + std::to_string(port_);
  }

  Server server;

 private:
  int port_;
  std::thread thread_;
};
using TestServer = TestServerOf<httplib::Server>;
using TlsTestServer = TestServerOf<httplib::SSLServer>;

TEST(HttpClient, SendsMethodHeadersTokenAndBody) {
  TestServer peer;
  httplib::Request seen;
  peer.server.Put("/rules", [&](const httplib::Request& request, httplib::Response& response) {
    seen = request;
    response.status = 412;
    response.set_header("ETag", "\"1.2\"");
    response.set_content("no", "text/plain");
  });
  auto client = HttpClient::Create({.server = peer.url(), .token = "0123456789abcdef"});
  ASSERT_TRUE(client);
  const auto response = client->Send({.method = "PUT",
                                      .target = "/rules?wait=2s",
                                      .headers = {{"If-Match", "\"1.1\""}},
                                      .content_type = "application/yaml",
                                      .body = "rules: []"});
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 412);
  EXPECT_EQ(response->body, "no");
  EXPECT_EQ(response->Header("etag"), "\"1.2\"");
  EXPECT_EQ(response->Header("missing"), "");
  EXPECT_EQ(seen.body, "rules: []");
  EXPECT_EQ(seen.get_param_value("wait"), "2s");
  EXPECT_EQ(seen.get_header_value("If-Match"), "\"1.1\"");
  EXPECT_EQ(seen.get_header_value("Content-Type"), "application/yaml");
  EXPECT_EQ(seen.get_header_value("Authorization"), "Bearer 0123456789abcdef");
}

TEST(HttpClient, SendsItsHeadersAsSecrets) {
  TestServer peer;
  httplib::Request seen;
  peer.server.Get("/", [&](const httplib::Request& request, httplib::Response& /*response*/) {
    seen = request;
  });
  auto client = HttpClient::Create({.server = peer.url(), .headers = {{"Api-Key", "s3cret"}}});
  ASSERT_TRUE(client);
  ASSERT_TRUE(client->Send({.target = "/"}));
  EXPECT_EQ(seen.get_header_value("Api-Key"), "s3cret");
  const auto refused =
      HttpClient::Create({.server = "http://192.0.2.1", .headers = {{"Api-Key", "s3cret"}}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "refusing to send the headers unencrypted to http://192.0.2.1; use https");
}

/// Accepts one connection and sends a byte of an endless response now and then.
class DrippingServer {
 public:
  DrippingServer() : thread_([this] { Drip(); }) {}
  ~DrippingServer() {
    ends_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  void WaitForRequest() const {
    while (!has_request_) std::this_thread::yield();
  }

 private:
  int Listen() {
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    ::bind(listener, generic, size);
    ::listen(listener, 1);
    ::getsockname(listener, generic, &size);
    port_ = ntohs(address.sin_port);
    return listener;
  }
  void Drip() {
    const int connection = ::accept(listener_, nullptr, nullptr);
    if (connection < 0) return;
    char byte = 0;
    if (::recv(connection, &byte, 1, 0) == 1) has_request_ = true;
    ::send(connection, "HTTP/1.1 200 OK\r\nX: ", 20, MSG_NOSIGNAL);
    while (!ends_ && ::send(connection, "x", 1, MSG_NOSIGNAL) == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ::close(connection);
  }

  int port_ = 0;
  std::atomic<bool> ends_{false};
  std::atomic<bool> has_request_{false};
  const int listener_ = Listen();
  std::thread thread_;
};

TEST(HttpClient, AResponseThatNeverEndsIsCutByTheTotalTimeout) {
  const DrippingServer peer;
  auto client =
      HttpClient::Create({.server = peer.url(), .total_timeout = std::chrono::milliseconds(300)});
  ASSERT_TRUE(client);
  const auto response = client->Send({.target = "/"});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, ErrorCode::kStoreUnavailable);
}

TEST(HttpClient, CancelEndsARequestFromAnotherThreadAndAllLaterOnes) {
  const DrippingServer peer;
  auto client = HttpClient::Create({.server = peer.url()});
  ASSERT_TRUE(client);
  std::thread canceler([&] {
    peer.WaitForRequest();
    client->Cancel();
  });
  EXPECT_FALSE(client->Send({.target = "/"}));
  canceler.join();
  EXPECT_FALSE(client->Send({.target = "/"}));
}

TEST(HttpClient, SendsToAUnixSocketAsToThisMachine) {
  const std::string path = testing::TempDir() + "http_client_" + std::to_string(getpid());
  httplib::Server server;
  httplib::Request seen;
  server.Get("/readyz", [&](const httplib::Request& request, httplib::Response& response) {
    seen = request;
    response.set_content("ready", "text/plain");
  });
  server.set_address_family(AF_UNIX);
  ASSERT_TRUE(server.bind_to_port(path, 80));
  std::thread thread([&] { server.listen_after_bind(); });
  const auto create = [&] {
    return HttpClient::Create({.server = "unix:" + path, .token = "0123456789abcdef"}).value();
  };
  {
    HttpClient client = create();
    for (int i = 0; i < 2; ++i) {
      const auto response = client.Send({.target = "/readyz"});
      EXPECT_EQ(response ? response->body : response.error().message, "ready");
    }
  }
  server.stop();
  thread.join();
  EXPECT_EQ(seen.get_header_value("Host"), "localhost");
  unlink(path.c_str());
  const auto gone = create().Send({.target = "/readyz"});
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().message, "unix:" + path + ": can't connect");
}

TEST(HttpClient, FollowsNoRedirect) {
  TestServer peer;
  peer.server.Get("/", [](const httplib::Request&, httplib::Response& response) {
    response.set_redirect("/elsewhere");
  });
  bool followed = false;
  peer.server.Get("/elsewhere",
                  [&](const httplib::Request&, httplib::Response&) { followed = true; });
  auto client = HttpClient::Create({.server = peer.url()});
  ASSERT_TRUE(client);
  const auto response = client->Send({.target = "/"});
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 302);
  EXPECT_FALSE(followed);
}

TEST(HttpClient, RefusesAResponseThatIsTooLarge) {
  TestServer peer;
  peer.server.Get("/", [](const httplib::Request&, httplib::Response& response) {
    response.set_content(std::string(1001, 'x'), "text/plain");
  });
  auto client = HttpClient::Create({.server = peer.url(), .max_response_bytes = 1000});
  ASSERT_TRUE(client);
  const auto response = client->Send({.target = "/"});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().message, peer.url() + ": the response has more than 1000 bytes");
}

TEST(HttpClient, StreamsABodyAsItArrives) {
  TestServer peer;
  std::promise<void> first_received;
  auto received_future = first_received.get_future();
  peer.server.Get("/lines", [&](const httplib::Request&, httplib::Response& response) {
    response.set_chunked_content_provider("text/plain", [&](std::size_t, httplib::DataSink& sink) {
      sink.write("first\n", 6);
      received_future.wait();  // The rest is sent only after the client has the first part.
      sink.write(std::string(2000, 'x').data(), 2000);
      sink.done();
      return true;
    });
  });
  peer.server.Get("/error", [](const httplib::Request&, httplib::Response& response) {
    response.status = 403;
    response.set_content("no", "text/plain");
  });
  auto client = HttpClient::Create({.server = peer.url(), .max_response_bytes = 1000});
  ASSERT_TRUE(client);
  std::string body;
  const auto response = client->Stream({.target = "/lines"}, [&](std::string_view part) {
    if (body.empty()) first_received.set_value();
    body += part;
    return true;
  });
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->Header("content-type"), "text/plain");
  EXPECT_EQ(body, "first\n" + std::string(2000, 'x'));
  // The body of an error is that of the response.
  const auto refused = client->Stream({.target = "/error"}, [](std::string_view /*part*/) {
    ADD_FAILURE() << "received a part";
    return true;
  });
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 403);
  EXPECT_EQ(refused->body, "no");
}

TEST(HttpClient, AReceiverEndsAStream) {
  TestServer peer;
  peer.server.Get("/", [](const httplib::Request&, httplib::Response& response) {
    response.set_content("some text", "text/plain");
  });
  auto client = HttpClient::Create({.server = peer.url()});
  ASSERT_TRUE(client);
  const auto response =
      client->Stream({.target = "/"}, [](std::string_view /*part*/) { return false; });
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 200);
}

TEST(HttpClient, ReadsAResponseInChunks) {
  TestServer peer;
  peer.server.Get("/", [](const httplib::Request&, httplib::Response& response) {
    response.set_chunked_content_provider("text/plain", [](std::size_t, httplib::DataSink& sink) {
      sink.write("one ", 4);
      sink.write("two", 3);
      sink.done();
      return true;
    });
  });
  auto client = HttpClient::Create({.server = peer.url()});
  ASSERT_TRUE(client);
  const auto response = client->Send({.target = "/"});
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, "one two");
}

TEST(HttpClient, SendsSeveralRequestsOverOneConnection) {
  TestServer peer;
  std::vector<int> ports;
  peer.server.Get("/", [&](const httplib::Request& request, httplib::Response&) {
    ports.push_back(request.remote_port);
  });
  auto client = HttpClient::Create({.server = peer.url()});
  ASSERT_TRUE(client);
  ASSERT_TRUE(client->Send({.target = "/"}));
  ASSERT_TRUE(client->Send({.target = "/"}));
  ASSERT_EQ(ports.size(), 2U);
  EXPECT_EQ(ports[0], ports[1]);
}

TEST(HttpClient, ConnectsAgainWhenTheServerHasClosedTheConnection) {
  TestServer peer;
  peer.server.set_keep_alive_max_count(1);
  peer.server.Get("/", [](const httplib::Request&, httplib::Response&) {});
  auto client = HttpClient::Create({.server = peer.url()});
  ASSERT_TRUE(client);
  for (int request = 0; request < 3; ++request) {
    const auto response = client->Send({.target = "/"});
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->status, 200);
  }
}

TEST(HttpClient, AcceptsACertificateOfATrustedAuthorityForThisHost) {
  net::testing::Authority authority;
  const auto identity = authority.Issue("server", {.common_name = "localhost"});
  TlsTestServer peer(identity.certificate.c_str(), identity.key.c_str());
  peer.server.Get("/", [](const httplib::Request&, httplib::Response& response) {
    response.set_content("encrypted", "text/plain");
  });
  auto client = HttpClient::Create({.server = peer.url(), .ca_file = authority.certificate()});
  ASSERT_TRUE(client) << client.error().message;
  const auto response = client->Send({.target = "/"});
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, "encrypted");
}

TEST(HttpClient, RefusesACertificateOfAnUnknownAuthorityOrForAnotherHost) {
  net::testing::Authority trusted;
  net::testing::Authority unknown("Unknown");
  for (const auto& identity : {unknown.Issue("server", {.common_name = "localhost"}),
                               trusted.Issue("server", {.common_name = "server.test"})}) {
    TlsTestServer peer(identity.certificate.c_str(), identity.key.c_str());
    auto client = HttpClient::Create({.server = peer.url(), .ca_file = trusted.certificate()});
    ASSERT_TRUE(client) << client.error().message;
    const auto response = client->Send({.target = "/"});
    ASSERT_FALSE(response);
    EXPECT_NE(response.error().message.find("the server's certificate is not accepted"),
              std::string::npos)
        << response.error().message;
  }
}

TEST(HttpClient, NamesAFileOfCertificatesThatCanNotBeRead) {
  const auto client =
      HttpClient::Create({.server = "https://127.0.0.1", .ca_file = "/nowhere/ca.pem"});
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, ErrorCode::kInvalidOptions);
  EXPECT_NE(client.error().message.find("/nowhere/ca.pem"), std::string::npos)
      << client.error().message;
}

TEST(HttpClient, NamesTheServerThatDoesNotAnswer) {
  std::string url;
  {
    const TestServer gone;
    url = gone.url();
  }
  auto client = HttpClient::Create({.server = url});
  ASSERT_TRUE(client);
  const auto response = client->Send({.target = "/"});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, ErrorCode::kStoreUnavailable);
  EXPECT_EQ(response.error().message, url + ": can't connect");
}

TEST(HttpClient, RefusesWhatIsNoServer) {
  for (const char* bad :
       {"", "sluice:8080", "ftp://a", "http://", "http://a/path", "http://u@a", "http://[::1",
        "http://a b", "http://a:", "http://a:port", "http://[::1]8080", "unix:", "unix:relative"}) {
    const auto client = HttpClient::Create({.server = bad});
    ASSERT_FALSE(client) << bad;
    EXPECT_EQ(client.error().code, ErrorCode::kInvalidOptions);
  }
}

TEST(HttpClient, SendsNoTokenUnencryptedToOtherMachines) {
  const auto create = [](const char* server, bool plaintext) {
    return HttpClient::Create({.server = server, .token = "x", .plaintext_token = plaintext}).ok();
  };
  EXPECT_FALSE(create("http://10.0.0.1:8080", false));
  EXPECT_FALSE(create("http://sluice.example.com", false));
  EXPECT_TRUE(create("http://10.0.0.1:8080", true));
  EXPECT_TRUE(create("https://10.0.0.1:8080", false));
  EXPECT_TRUE(create("http://127.0.0.9:8080", false));
  EXPECT_TRUE(create("http://[::1]:8080", false));
  EXPECT_TRUE(create("http://localhost:8080", false));
}

}  // namespace
}  // namespace sluice::http_client
