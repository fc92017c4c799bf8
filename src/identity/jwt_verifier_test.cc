#include "identity/jwt_verifier.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "identity/testing/jwt_signer.h"

namespace sluice::identity {
namespace {

using testing::Base64Url;
using testing::JwtSigner;

constexpr std::string_view kSecret = "0123456789abcdef0123456789abcdef";

const JwtSigner& Rsa() {
  static const JwtSigner signer = JwtSigner::Rsa();
  return signer;
}
const JwtSigner& Curve() {
  static const JwtSigner signer = JwtSigner::Curve();
  return signer;
}
const JwtSigner& Secret() {
  static const JwtSigner signer = JwtSigner::Secret(std::string(kSecret));
  return signer;
}

std::vector<JwtKey> KeysOf(const std::string& content) {
  return ReadJwtKeys(content, "keys").value();
}

std::vector<JwtKey> SetOf(const std::string& keys) { return KeysOf("{\"keys\":[" + keys + "]}"); }

// "a|b|" of the claims, or why the token is refused.
std::string Read(const JwtVerifier& verifier, std::string_view token) {
  JwtContent content;
  const JwtStatus status = verifier.Read(token, content);
  if (status != JwtStatus::kValid) return std::string(Describe(status));
  std::string values;
  for (std::string_view packed = content.packed; !packed.empty();) {
    values += std::string(TakeValue(packed)) + "|";
  }
  return values;
}

TEST(JwtVerifier, ASignatureOfEachKindIsChecked) {
  for (const JwtSigner* signer : {&Rsa(), &Curve(), &Secret()}) {
    const JwtVerifier verifier({}, SetOf(signer->Jwk("k1")));
    const std::string token = signer->Token(R"({"sub":"alice"})", "k1");
    EXPECT_EQ(Read(verifier, token), "alice|") << signer->algorithm();
    for (const std::size_t at : {token.size() - 10, token.find('.') + 3}) {
      std::string changed = token;
      changed[at] = changed[at] == 'A' ? 'B' : 'A';
      EXPECT_NE(Read(verifier, changed), "alice|") << signer->algorithm();
    }
    EXPECT_EQ(Read(verifier, token.substr(0, token.rfind('.') + 1)),
              "the token's signature is wrong");
  }
}

TEST(JwtVerifier, TheExamplesOfTheStandardAreValid) {
  // RFC 7515, appendices A.1 to A.3.
  const std::string payload =
      ".eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnV"
      "l"
      "fQ.";
  const std::vector<std::pair<std::string, std::string>> examples = {
      {R"({"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUu)"
       R"(TwjAzZr1Z9CAow"})",
       "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9" + payload +
           "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"},
      {R"({"kty":"RSA","e":"AQAB","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmf)"
       R"(HQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wG)"
       R"(zjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZ)"
       R"(lxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54)"
       R"(h4FRWyuXpoQ"})",
       "eyJhbGciOiJSUzI1NiJ9" + payload +
           "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_"
           "O8W"
           "2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_"
           "nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkS"
           "jtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-"
           "eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnv"
           "Wh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"},
      {R"({"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",)"
       R"("y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"})",
       "eyJhbGciOiJFUzI1NiJ9" + payload +
           "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-"
           "Kg6NU1Q"}};
  JwtRules rules;
  rules.claims = {{"iss", "api_key"}, {"http://example.com/is_root", "root"}};
  for (const auto& [key, token] : examples) {
    EXPECT_EQ(Read(JwtVerifier(rules, KeysOf(key)), token), "joe|true|") << token;
  }
}

TEST(JwtVerifier, KeysMayComeAsPem) {
  for (const JwtSigner* signer : {&Rsa(), &Curve()}) {
    const JwtVerifier verifier({}, KeysOf(signer->PublicPem()));
    EXPECT_EQ(Read(verifier, signer->Token(R"({"sub":"alice"})")), "alice|");
    EXPECT_EQ(Read(verifier, signer->Token(R"({"sub":"alice"})", "any id")), "alice|");
  }
  const JwtVerifier both({}, KeysOf(Rsa().PublicPem() + "and\n" + Curve().PublicPem()));
  EXPECT_EQ(Read(both, Curve().Token(R"({"sub":"alice"})")), "alice|");
  EXPECT_EQ(Read(both, Rsa().Token(R"({"sub":"alice"})")), "alice|");
}

TEST(JwtVerifier, APublicKeyIsNeverTakenForASecret) {
  const std::string pem = Rsa().PublicPem();
  const JwtVerifier verifier({}, KeysOf(pem));
  const JwtSigner forger = JwtSigner::Secret(pem);
  EXPECT_EQ(Read(verifier, forger.Token(R"({"sub":"root"})")), "no key matches the token");
  EXPECT_FALSE(ReadJwtSecret(pem, "file").ok());
}

TEST(JwtVerifier, ATokenWithoutASignatureIsRefused) {
  const JwtVerifier verifier({}, KeysOf(Rsa().PublicPem()));
  for (const char* alg : {"none", "None", "nOnE", "", "HS512", "RS512", "PS256", "rs256"}) {
    const std::string header = std::string(R"({"alg":")") + alg + "\"}";
    const std::string unsigned_token =
        Base64Url(header) + "." + Base64Url(R"({"sub":"root"})") + ".";
    EXPECT_EQ(Read(verifier, unsigned_token), "the token is not signed with HS256, RS256 or ES256");
    EXPECT_EQ(Read(verifier, Rsa().TokenWithHeader(header, R"({"sub":"root"})")),
              "the token is not signed with HS256, RS256 or ES256");
  }
  for (const char* header :
       {"{}", R"({"alg":["RS256"]})", R"({"alg":null})", R"({"alg":"RS256","alg":"none"})",
        R"({"alg":"RS256","crit":["b64"],"b64":false})", R"({"alg":"RS256","kid":7})", "null",
        "x"}) {
    EXPECT_NE(Read(verifier, Rsa().TokenWithHeader(header, R"({"sub":"root"})")), "root|")
        << header;
  }
}

TEST(JwtVerifier, AnotherKeyDoesNotVerify) {
  const JwtSigner other = JwtSigner::Rsa();
  const JwtVerifier verifier({}, SetOf(Rsa().Jwk("mine") + "," + other.Jwk("theirs")));
  EXPECT_EQ(Read(verifier, Rsa().Token(R"({"sub":"a"})", "mine")), "a|");
  EXPECT_EQ(Read(verifier, other.Token(R"({"sub":"a"})", "theirs")), "a|");
  EXPECT_EQ(Read(verifier, other.Token(R"({"sub":"a"})", "mine")),
            "the token's signature is wrong");
  EXPECT_EQ(Read(verifier, Rsa().Token(R"({"sub":"a"})", "gone")), "no key matches the token");
  // Which of several is meant must be said.
  EXPECT_EQ(Read(verifier, Rsa().Token(R"({"sub":"a"})")), "no key matches the token");
}

TEST(JwtVerifier, SignaturesOfACurveHaveOneForm) {
  const JwtVerifier verifier({}, KeysOf(Curve().PublicPem()));
  const std::string text = Base64Url(R"({"alg":"ES256"})") + "." + Base64Url(R"({"sub":"a"})");
  const std::string signature = Curve().Sign(text);
  EXPECT_EQ(Read(verifier, text + "." + Base64Url(signature)), "a|");
  for (const std::string& wrong :
       {signature + '\0', signature.substr(1), std::string(64, '\0'), std::string(64, '\xFF')}) {
    EXPECT_EQ(Read(verifier, text + "." + Base64Url(wrong)), "the token's signature is wrong");
  }
}

TEST(JwtVerifier, ATokenIsValidForItsTimeOnly) {
  JwtRules rules;
  rules.leeway = std::chrono::seconds(10);
  const JwtVerifier verifier(rules, {JwtKey::OfSecret(std::string(kSecret))});
  const auto status = [&](const char* payload, int at) {
    JwtContent content;
    const JwtStatus read = verifier.Read(Secret().Token(payload), content);
    return read == JwtStatus::kValid ? content.StatusAt(WallTime(std::chrono::seconds(at))) : read;
  };
  EXPECT_EQ(status(R"({"exp":1000})", 1009), JwtStatus::kValid);
  EXPECT_EQ(status(R"({"exp":1000})", 1010), JwtStatus::kExpired);
  EXPECT_EQ(status(R"({"exp":1000.5})", 1010), JwtStatus::kValid);
  EXPECT_EQ(status(R"({"nbf":1000})", 990), JwtStatus::kValid);
  EXPECT_EQ(status(R"({"nbf":1000})", 989), JwtStatus::kNotYetValid);
  EXPECT_EQ(status(R"({"exp":1e300})", 989), JwtStatus::kValid);
  EXPECT_EQ(status(R"({"exp":1e400})", 989), JwtStatus::kMalformed);
  EXPECT_EQ(status(R"({"exp":"1000"})", 989), JwtStatus::kMalformed);
  EXPECT_EQ(status(R"({"exp":-1})", 0), JwtStatus::kMalformed);
  EXPECT_EQ(status(R"({"exp":null})", 0), JwtStatus::kMalformed);
  EXPECT_EQ(status(R"({"nbf":true})", 0), JwtStatus::kMalformed);
  EXPECT_EQ(status("{}", 1 << 30), JwtStatus::kValid);
  rules.require_expiry = true;
  JwtContent content;
  EXPECT_EQ(JwtVerifier(rules, {JwtKey::OfSecret(std::string(kSecret))})
                .Read(Secret().Token("{}"), content),
            JwtStatus::kExpired);
}

TEST(JwtVerifier, IssuerAndAudienceMustFit) {
  JwtRules rules;
  rules.issuer = "https://issuer";
  rules.audience = "api";
  const JwtVerifier verifier(rules, {JwtKey::OfSecret(std::string(kSecret))});
  const auto read = [&](const char* payload) { return Read(verifier, Secret().Token(payload)); };
  EXPECT_EQ(read(R"({"sub":"a","iss":"https://issuer","aud":"api"})"), "a|");
  EXPECT_EQ(read(R"({"sub":"a","iss":"https:\/\/issuer","aud":["other","api"]})"), "a|");
  EXPECT_EQ(read(R"({"sub":"a","iss":"https://issuer","aud":["other"]})"),
            "the token is for another audience");
  EXPECT_EQ(read(R"({"sub":"a","iss":"https://issuer"})"), "the token is for another audience");
  EXPECT_EQ(read(R"({"sub":"a","iss":"https://issuer","aud":{"api":1}})"),
            "the token is for another audience");
  EXPECT_EQ(read(R"({"sub":"a","iss":"https://issuer/","aud":"api"})"),
            "the token is from another issuer");
  EXPECT_EQ(read(R"({"sub":"a","aud":"api"})"), "the token is from another issuer");
}

TEST(JwtVerifier, ClaimsBecomeTexts) {
  JwtRules rules;
  rules.claims = {{"sub", "api_key"}, {"org", "tenant"}, {"tier", "tier"}};
  const JwtVerifier verifier(rules, {JwtKey::OfSecret(std::string(kSecret))});
  const auto read = [&](const std::string& payload) {
    return Read(verifier, Secret().Token(payload));
  };
  EXPECT_EQ(read(R"({"tier":"pro","x":{"sub":"no"},"org":17,"sub":"\u00e4"})"), "ä|17|pro|");
  EXPECT_EQ(read(R"({"org":true,"tier":null})"), "|true||");
  EXPECT_EQ(read(R"({"sub":")" + std::string(256, 'x') + "\"}"), std::string(256, 'x') + "|||");
  for (const std::string& payload :
       {R"({"sub":")" + std::string(257, 'x') + "\"}", std::string(R"({"sub":["a"]})"),
        std::string(R"({"sub":{}})"), std::string(R"({"sub":"a\u0000b"})"),
        std::string(R"({"sub":"a\n"})")}) {
    EXPECT_EQ(read(payload), "a claim of the token can't be used") << payload;
  }
  // The next reader of the token might take the other one.
  EXPECT_EQ(read(R"({"sub":"a","s\u0075b":"b"})"), "the token is malformed");
  EXPECT_EQ(read(R"({"exp":1,"exp":9999999999})"), "the token is malformed");
}

TEST(JwtVerifier, TheFormOfATokenIsStrict) {
  const JwtVerifier verifier({}, {JwtKey::OfSecret(std::string(kSecret))});
  const std::string token = Secret().Token(R"({"sub":"a"})");
  for (const char* text : {"", "a", "a.b", "a.b.c.d", "a.b.c.d.e"}) {
    EXPECT_EQ(Read(verifier, text), "this is no token") << text;
  }
  for (const std::string& wrong : {token + "=", " " + token, token + "\n", std::string("..")}) {
    EXPECT_NE(Read(verifier, wrong), "a|") << wrong;
  }
  EXPECT_EQ(
      Read(verifier, Secret().Token(R"({"sub":"a","pad":")" + std::string(8192, 'x') + "\"}")),
      "the token is malformed");
}

TEST(JwtVerifier, WithUnverifiedOnlyTheFormIsChecked) {
  JwtRules rules;
  rules.unverified = true;
  const JwtVerifier verifier(rules, {});
  EXPECT_EQ(Read(verifier, Rsa().Token(R"({"sub":"a"})")), "a|");
  EXPECT_EQ(Read(verifier, Base64Url("{}") + "." + Base64Url(R"({"sub":"a"})") + "."), "a|");
  EXPECT_EQ(Read(verifier, Base64Url("{}") + "." + Base64Url("[]") + "."),
            "the token is malformed");
}

TEST(JwtKeys, UnusableKeysAreRejectedWithAReason) {
  const auto problem = [](const std::string& content) {
    const auto keys = ReadJwtKeys(content, "f");
    return keys ? "fine" : keys.error().message;
  };
  EXPECT_EQ(problem(""), "f: holds no key for HS256, RS256 or ES256");
  EXPECT_EQ(problem("not a key"), "f: holds no key for HS256, RS256 or ES256");
  EXPECT_EQ(problem(Rsa().PrivatePem()),
            "f: holds something other than public keys and certificates; tokens are checked with "
            "the public key");
  EXPECT_EQ(problem("-----BEGIN PUBLIC KEY-----\nx\n"), "f: holds a PEM block that can't be read");
  EXPECT_EQ(problem(JwtSigner::Rsa(1024).PublicPem()),
            "f: an RSA key must have 2048 bits at least");
  EXPECT_EQ(problem(JwtSigner::Curve("P-384").PublicPem()),
            "f: a key must be RSA, or an elliptic curve's P-256");
  EXPECT_EQ(problem("{"), "f: is no JSON");
  EXPECT_EQ(problem("{}"), "f: holds no key for HS256, RS256 or ES256");
  EXPECT_EQ(problem(R"({"keys":[{"kty":"oct","kid":"s","k":"c2hvcnQ"}]})"),
            "f: the key \"s\" is shorter than 32 bytes");
  EXPECT_EQ(problem(R"({"kty":"RSA","n":"!","e":"AQAB"})"),
            "f: has a number that is not base64url");
  EXPECT_EQ(problem(R"({"kty":"EC","crv":"P-256","x":"AA","y":"AA"})"), "f: a key is no key");
  EXPECT_EQ(problem(R"({"kty":"EC","crv":"P-256","x":")" + Base64Url(std::string(32, 'x')) +
                    R"(","y":")" + Base64Url(std::string(32, 'y')) + "\"}"),
            "f: a key is no key");
  EXPECT_EQ(ReadJwtSecret("short\n", "f").error().message,
            "f: a secret must have 32 bytes at least, as from: openssl rand -base64 32");
}

TEST(JwtKeys, KeysForOtherUsesAreSkipped) {
  const auto keys = SetOf(R"({"kty":"RSA","use":"enc","n":"AQAB","e":"AQAB"},)"
                          R"({"kty":"OKP","crv":"Ed25519","x":"AQAB"},)"
                          R"({"kty":"RSA","alg":"PS256","n":"AQAB","e":"AQAB"},)"
                          R"({"kty":"EC","crv":"P-384","x":"AQAB","y":"AQAB"},)" +
                          Curve().Jwk("mine"));
  ASSERT_EQ(keys.size(), 1U);
  EXPECT_EQ(keys[0].id(), "mine");
  EXPECT_EQ(KeysOf(Rsa().Jwk("alone")).size(), 1U);
}

}  // namespace
}  // namespace sluice::identity
