// The first byte says what the rest is: a token as it is, a file of keys, or a header and a payload
// (in two lines) that are then signed. Whatever it is, only what was signed may be believed, and
// what is believed stays within its bounds.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/ascii.h"
#include "identity/jwt_verifier.h"
#include "identity/testing/jwt_signer.h"

namespace {

using namespace sluice::identity;

constexpr std::string_view kSecret = "0123456789abcdef0123456789abcdef";

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

JwtRules Rules(bool unverified) {
  JwtRules rules;
  rules.claims = {{"sub", "api_key"}, {"tier", "tier"}};
  rules.unverified = unverified;
  return rules;
}

void CheckContent(const JwtContent& content) {
  std::string_view packed = content.packed;
  for (int i = 0; i < 2; ++i) {
    const std::string_view value = TakeValue(packed);
    Require(value.size() <= kMaxClaimBytes, "a claim that is too long");
    for (const char c : value) Require(!sluice::IsControl(c), "a claim with a control character");
  }
  Require(packed.empty(), "more values than claims");
  Require(content.expires <= sluice::kMaxTime, "an expiry that is too late");
}

void CheckToken(std::string_view token) {
  static const JwtVerifier strict(Rules(false), {JwtKey::OfSecret(std::string(kSecret))});
  static const JwtVerifier lenient(Rules(true), {});
  JwtContent content;
  if (strict.Read(token, content) == JwtStatus::kValid) {
    CheckContent(content);
    JwtContent again;
    Require(lenient.Read(token, again) == JwtStatus::kValid && again.packed == content.packed,
            "it means something else once it is checked");
  }
  if (lenient.Read(token, content) == JwtStatus::kValid) CheckContent(content);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static const auto signer = testing::JwtSigner::Secret(std::string(kSecret));
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 3) {
    case 0:
      CheckToken(text);
      break;
    case 1:
      (void)ReadJwtKeys(text, "keys");
      break;
    default: {
      const std::size_t line = text.find('\n');
      if (line == std::string_view::npos) break;
      CheckToken(signer.TokenWithHeader(text.substr(0, line), text.substr(line + 1)));
    }
  }
  return 0;
}
