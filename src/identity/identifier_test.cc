#include "identity/identifier.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "identity/testing/jwt_signer.h"

namespace sluice::identity {
namespace {

using std::chrono::seconds;
using testing::JwtSigner;

constexpr WallTime kNow{seconds(1'000'000)};
constexpr std::string_view kSecret = "0123456789abcdef0123456789abcdef";

Source Of(const char* text) { return ParseSource(text).value(); }

/// A file that is gone with the test.
class File {
 public:
  explicit File(std::string_view content)
      : path_(std::filesystem::path(::testing::TempDir()) /
              ("identity_" + std::to_string(getpid()) + "_" +
               std::to_string(reinterpret_cast<std::uintptr_t>(this)))) {
    std::ofstream(path_, std::ios::binary) << content;
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { std::filesystem::remove(path_); }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

struct Asked {
  const char* peer = "203.0.113.9";
  std::vector<HeaderLine> headers{};
  std::string_view query{};
  WallTime now = kNow;
};

// "name=value name=value", or why the call is refused.
std::string Ask(const Identifier& identifier, const Asked& asked) {
  Caller caller;
  const HeaderSpan<HeaderLine> headers(asked.headers);
  const Outcome outcome = identifier.Identify(
      {.peer = ParseAddress(asked.peer), .headers = headers, .query = asked.query}, asked.now,
      caller);
  std::string text;
  for (const Attribute& attribute : caller.attributes()) {
    text.append(text.empty() ? "" : " ").append(attribute.name).append("=").append(attribute.value);
  }
  if (outcome == Outcome::kKnown) return text;
  return (outcome == Outcome::kBadToken ? "401: " : "400: ") + std::string(caller.problem());
}

Identifier Make(IdentityOptions options) { return Identifier::Make(std::move(options)).value(); }

std::string Problem(IdentityOptions options) {
  const auto made = Identifier::Make(std::move(options));
  return made ? "fine" : made.error().message;
}

IdentityOptions WithTokens(const File& secret) {
  IdentityOptions options;
  options.sources = {Of("jwt"), Of("header:X-API-Key")};
  options.jwt.secret_file = secret.path();
  return options;
}

const JwtSigner& Signer() {
  static const JwtSigner signer = JwtSigner::Secret(std::string(kSecret));
  return signer;
}

TEST(Identifier, WithoutAKeyTheAddressIdentifiesTheCaller) {
  const Identifier identifier = Make({});
  EXPECT_EQ(Ask(identifier, {}), "ip=203.0.113.9");
  EXPECT_EQ(Ask(identifier, {.headers = {{"X-API-Key", "k1"}}}), "ip=203.0.113.9 api_key=k1");
  EXPECT_EQ(Ask(identifier, {.peer = "unix", .headers = {{"X-API-Key", "k1"}}}), "api_key=k1");
  EXPECT_EQ(Ask(identifier, {.peer = "unix"}), "");
}

TEST(Identifier, Ipv6IsCountedByItsNetworkAndIpv4Never) {
  EXPECT_EQ(Ask(Make({}), {.peer = "2001:DB8:1:2:3:4:5:6"}),
            "ip=2001:db8:1:2:3:4:5:6 ip_network=2001:db8:1:2::/64");
  EXPECT_EQ(Ask(Make({}), {.peer = "::ffff:1.2.3.4"}), "ip=1.2.3.4");
  EXPECT_EQ(Ask(Make({.ipv6_prefix = 48}), {.peer = "2001:db8:1:2::1"}),
            "ip=2001:db8:1:2::1 ip_network=2001:db8:1::/48");
  EXPECT_EQ(Ask(Make({.ipv6_prefix = 1}), {.peer = "::ffff:1.2.3.4"}), "ip=1.2.3.4");
  EXPECT_EQ(Ask(Make({.ipv6_prefix = 128}), {.peer = "2001:db8::1"}), "ip=2001:db8::1");
  EXPECT_EQ(Ask(Make({.ipv6_prefix = 127}), {.peer = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"}),
            "ip=ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff "
            "ip_network=ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127");
}

TEST(Identifier, AddressesBehindTrustedProxiesAreFound) {
  const Identifier identifier = Make({.trusted_proxies = {"10.0.0.0/8"}});
  const std::vector<HeaderLine> forged = {{"x-forwarded-for", "1.1.1.1, 198.51.100.7"}};
  EXPECT_EQ(Ask(identifier, {.peer = "10.0.0.1", .headers = forged}), "ip=198.51.100.7");
  EXPECT_EQ(Ask(identifier, {.headers = forged}), "ip=203.0.113.9");
  EXPECT_EQ(Ask(Make({}), {.peer = "10.0.0.1", .headers = forged}), "ip=10.0.0.1");
}

TEST(Identifier, TheFirstPresentSourceWins) {
  IdentityOptions options;
  options.sources = {Of("header:X-Key"), Of("bearer"), Of("query:key"), Of("cookie:key")};
  const Identifier identifier = Make(options);
  const HeaderLine cookie{"Cookie", "key=c"};
  const HeaderLine bearer{"Authorization", "Bearer b"};
  const HeaderLine header{"X-Key", "h"};
  EXPECT_EQ(Ask(identifier, {.headers = {cookie, bearer, header}, .query = "key=q"}),
            "ip=203.0.113.9 api_key=h");
  EXPECT_EQ(Ask(identifier, {.headers = {cookie, bearer}, .query = "key=q"}),
            "ip=203.0.113.9 api_key=b");
  EXPECT_EQ(Ask(identifier, {.headers = {cookie}, .query = "key=%71"}), "ip=203.0.113.9 api_key=q");
  EXPECT_EQ(Ask(identifier, {.headers = {cookie}}), "ip=203.0.113.9 api_key=c");
  EXPECT_EQ(Ask(identifier, {.headers = {{"X-API-Key", "other"}}}), "ip=203.0.113.9");
}

TEST(Identifier, BadCredentialsAreRefused) {
  IdentityOptions options;
  options.sources = {Of("header:X-API-Key"), Of("query:key")};
  const Identifier identifier = Make(options);
  EXPECT_EQ(Ask(identifier, {.headers = {{"X-API-Key", "a"}, {"x-api-key", "b"}}}),
            "400: the request has several different credentials of one kind");
  const std::string control = "400: a credential is too long or has control characters";
  EXPECT_EQ(Ask(identifier, {.query = "key=a%00b"}), control);
  EXPECT_EQ(Ask(identifier, {.query = "key=a%0Ab"}), control);
  EXPECT_EQ(Ask(identifier, {.headers = {{"X-API-Key", "a\tb"}}}), control);
  const std::string long_key(8193, 'x');
  EXPECT_EQ(Ask(identifier, {.headers = {{"X-API-Key", long_key}}}), control);
}

TEST(Identifier, LongCredentialsAreCountedByTheirHash) {
  const Identifier identifier = Make({});
  const std::string plain(64, 'x');
  const std::string longer(65, 'x');
  EXPECT_EQ(Ask(identifier, {.headers = {{"X-API-Key", plain}}}),
            "ip=203.0.113.9 api_key=" + plain);
  const std::string hashed = Ask(identifier, {.headers = {{"X-API-Key", longer}}});
  EXPECT_THAT(hashed,
              ::testing::StartsWith("ip=203.0.113.9 api_key=" + longer + " api_key_hash=sha256:"));
  // A client can't send the hash of another client's key: it is too long to be counted as it is.
  const std::string stands_for = hashed.substr(hashed.rfind('=') + 1);
  EXPECT_THAT(Ask(identifier, {.headers = {{"X-API-Key", stands_for}}}),
              ::testing::HasSubstr("api_key_hash=sha256:"));
}

TEST(Identifier, KeysThatAreHashedAreShownAsHashesOnly) {
  const Identifier identifier = Make({.hash_keys = true, .hash_secret = "0123456789abcdef"});
  KeyDigest::Buffer buffer;
  const std::string shown(identifier.ShownKey("k1", buffer));
  EXPECT_THAT(shown, ::testing::StartsWith("hmac:"));
  EXPECT_EQ(Ask(identifier, {.headers = {{"X-API-Key", "k1"}}}),
            "ip=203.0.113.9 api_key=k1 api_key_hash=" + shown);
  const File secret("0123456789abcdef\n");
  EXPECT_EQ(Make({.hash_keys = true, .hash_secret_file = secret.path()}).ShownKey("k1", buffer),
            shown);
  EXPECT_EQ(Problem({.hash_keys = true}),
            "hashed keys need a secret of 16 bytes at least: without one they can be guessed");
}

TEST(Identifier, ClaimsOfATokenBecomeAttributes) {
  const File secret(kSecret);
  IdentityOptions options = WithTokens(secret);
  options.jwt.rules.claims = {{"sub", "api_key"}, {"plan", "tier"}, {"org", "tenant"}};
  const Identifier identifier = Make(options);
  const std::string token = "Bearer " + Signer().Token(R"({"plan":"pro","sub":"alice"})");
  for (int i = 0; i < 3; ++i) {  // The second time it is remembered.
    EXPECT_EQ(Ask(identifier, {.headers = {{"Authorization", token}, {"X-API-Key", "k"}}}),
              "ip=203.0.113.9 api_key=alice tier=pro");
  }
  // A token without the configured claims, and text that is not a token: the next source counts.
  for (const std::string& other :
       {"Bearer " + Signer().Token("{}"), std::string("Bearer opaque")}) {
    EXPECT_EQ(Ask(identifier, {.headers = {{"Authorization", other}, {"X-API-Key", "k"}}}),
              "ip=203.0.113.9 api_key=k");
  }
}

TEST(Identifier, ACachedTokenStillExpires) {
  const File secret(kSecret);
  const Identifier identifier = Make(WithTokens(secret));
  const std::string token =
      "Bearer " + Signer().Token(R"({"sub":"a","nbf":1000000,"exp":1000100})");
  const auto at = [&](int offset) {
    return Ask(identifier, {.headers = {{"Authorization", token}}, .now = kNow + seconds(offset)});
  };
  EXPECT_EQ(at(-61), "401: the token is not valid yet");
  EXPECT_EQ(at(0), "ip=203.0.113.9 api_key=a");
  EXPECT_EQ(at(159), "ip=203.0.113.9 api_key=a");
  EXPECT_EQ(at(160), "401: the token has expired");
  EXPECT_EQ(at(-61), "401: the token is not valid yet");
}

TEST(Identifier, AForgedTokenIsRefusedOrIgnored) {
  const File secret(kSecret);
  IdentityOptions options = WithTokens(secret);
  options.sources.push_back(Of("bearer"));
  const JwtSigner forger = JwtSigner::Secret(std::string(32, 'f'));
  const std::string token = "Bearer " + forger.Token(R"({"sub":"root"})");
  const Asked asked{.headers = {{"Authorization", token}, {"X-API-Key", "k"}}};
  EXPECT_EQ(Ask(Make(options), asked), "401: the token's signature is wrong");
  // Else each forged token would be a caller of its own.
  options.jwt.on_invalid = OnInvalidToken::kAnonymous;
  EXPECT_EQ(Ask(Make(options), asked), "ip=203.0.113.9");
}

TEST(Identifier, TokensMayComeFromOtherSources) {
  const File secret(kSecret);
  IdentityOptions options = WithTokens(secret);
  options.jwt.from = Of("cookie:session");
  const std::string cookie = "session=" + Signer().Token(R"({"sub":"alice"})");
  EXPECT_EQ(Ask(Make(options), {.headers = {{"Cookie", cookie}}}), "ip=203.0.113.9 api_key=alice");
}

TEST(Identifier, ManyThreadsShareTheCache) {
  const File secret(kSecret);
  const Identifier identifier = Make(WithTokens(secret));
  std::vector<std::string> tokens;
  for (int i = 0; i < 200; ++i) {
    tokens.push_back("Bearer " + Signer().Token("{\"sub\":\"user" + std::to_string(i) + "\"}"));
  }
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        const auto n = static_cast<std::size_t>(i * 7 % 200);
        ASSERT_EQ(Ask(identifier, {.headers = {{"Authorization", tokens[n]}}}),
                  "ip=203.0.113.9 api_key=user" + std::to_string(n));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Identifier, InvalidOptionsAreRejected) {
  const File secret(kSecret);
  EXPECT_EQ(Problem({.ipv6_prefix = 0}), "the prefix of IPv6 must be a number from 1 to 128");
  EXPECT_EQ(Problem({.ipv6_prefix = 129}), "the prefix of IPv6 must be a number from 1 to 128");
  EXPECT_EQ(Problem({.trusted_proxies = {"x"}}),
            "trusted proxy \"x\": 'x' is no IPv4 or IPv6 address");
  EXPECT_EQ(Problem({.sources = {Of("jwt")}}),
            "jwt: there is no key to verify tokens; set `unverified` if a proxy in front has "
            "verified them");
  IdentityOptions options = WithTokens(secret);
  options.jwt.rules.unverified = true;
  EXPECT_EQ(Problem(options), "jwt: there are keys, but `unverified` is set");
  for (const char* reserved : {"ip", "ip_network", "api_key_hash", ""}) {
    options = WithTokens(secret);
    options.jwt.rules.claims = {{"sub", reserved}};
    EXPECT_THAT(Problem(options), ::testing::HasSubstr("can't become the attribute")) << reserved;
  }
  options.jwt.rules.claims = {{"sub", "user"}, {"id", "user"}};
  EXPECT_EQ(Problem(options), "jwt: the claim \"sub\" can't become the attribute \"user\"");
  options = WithTokens(secret);
  options.jwt.key_files = {"/nowhere/keys.json"};
  EXPECT_EQ(Problem(options), "/nowhere/keys.json: can't be read: No such file or directory");
  options = WithTokens(secret);
  options.jwt.from = Of("jwt");
  EXPECT_EQ(Problem(options), "jwt: a token can't be taken from a token");
}

}  // namespace
}  // namespace sluice::identity
