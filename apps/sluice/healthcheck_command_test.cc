#include "healthcheck_command.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::app {
namespace {

settings::Config WithListeners(std::vector<std::string> admin, std::vector<std::string> http) {
  settings::Config config;
  config.admin.listener.listen = std::move(admin);
  config.http.listener.listen = std::move(http);
  return config;
}

TEST(ProbeUrl, IsTheHttpListenerOfTheSettings) {
  const auto url = ProbeUrl(settings::Config());
  ASSERT_TRUE(url);
  EXPECT_EQ(*url, "http://127.0.0.1:8080");
  EXPECT_EQ(ProbeUrl(WithListeners({}, {"[::1]:80", ":81"})).value(), "http://[::1]:80");
  EXPECT_EQ(ProbeUrl(WithListeners({}, {"unix:/run/a.sock"})).value(), "unix:/run/a.sock");
}

TEST(ProbeUrl, IsOnLoopbackIfTheListenerIsOnEveryAddress) {
  for (const char* every : {":8080", "*:8080", "0.0.0.0:8080", "[::]:8080"}) {
    EXPECT_EQ(ProbeUrl(WithListeners({}, {every})).value(), "http://127.0.0.1:8080") << every;
  }
}

TEST(ProbeUrl, PrefersTheListenerForAdministrators) {
  EXPECT_EQ(ProbeUrl(WithListeners({":9090"}, {":8080"})).value(), "http://127.0.0.1:9090");
}

TEST(ProbeUrl, FailsIfTheSettingsDoNotNameAListener) {
  const auto none = ProbeUrl(WithListeners({}, {}));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message,
            "the settings have no HTTP listener without TLS; name one with --server");
  const auto any = ProbeUrl(WithListeners({}, {"127.0.0.1:0"}));
  ASSERT_FALSE(any);
  EXPECT_EQ(any.error().message, "the listener is on any free port; name it with --server");
}

}  // namespace
}  // namespace sluice::app
