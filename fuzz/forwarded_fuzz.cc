// Lines of a header are read as what proxies tell of their clients: the answer must be that of a
// walk that is slow and obvious, and nobody who is not trusted may be believed.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "identity/client_address.h"
#include "identity/credentials.h"
#include "identity/testing/slow_walk.h"

namespace {

using sluice::identity::AddressHeader;
using sluice::identity::TrustedProxies;

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

std::vector<std::string> LinesOf(std::string_view text) {
  std::vector<std::string> lines(1);
  for (const char c : text) {
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  return lines;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice::identity;
  static const TrustedProxies proxies =
      TrustedProxies::Parse({"10.0.0.0/8", "2001:db8:f::/48"}).value();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto lines = LinesOf(text);
  const auto proxy = sluice::ParseAddress("10.0.0.1");
  const auto stranger = sluice::ParseAddress("203.0.113.1");
  for (const AddressHeader header : {AddressHeader::kXForwardedFor, AddressHeader::kForwarded}) {
    Require(testing::AskFor(proxy, lines, header, proxies) ==
                testing::SlowWalk(proxy, lines, header, proxies),
            "the walk ends elsewhere");
    Require(testing::AskFor(stranger, lines, header, proxies) == stranger,
            "a stranger was believed");
  }
  const HeaderLine cookie{"Cookie", text};
  (void)FindCookie(HeaderSpan<HeaderLine>({&cookie, 1}), "key");
  std::string room;
  const Credential found = FindQuery(text, "key", room);
  Require(found.value.size() <= text.size(), "decoding made it longer");
  return 0;
}
