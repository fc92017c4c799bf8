#include "http_client/http_client.h"

#include <future>
#include <string>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>
#include <httplib.h>

namespace sluice::http_client {
namespace {

/// A server on a free port of this machine, until it is destroyed.
class TestServer {
 public:
  TestServer()
      : port_(server.bind_to_any_port("127.0.0.1")),
        thread_([this] { server.listen_after_bind(); }) {
    while (!server.is_running()) std::this_thread::yield();
  }
  ~TestServer() {
    server.stop();
    thread_.join();
  }

  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

  httplib::Server server;

 private:
  int port_;
  std::thread thread_;
};

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
  for (const char* bad : {"", "sluice:8080", "ftp://a", "http://", "http://a/path", "http://u@a",
                          "http://[::1", "http://a b"}) {
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
