#include "identity/testing/slow_walk.h"

#include <ranges>

#include "base/ascii.h"
#include "identity/forwarded.h"

namespace sluice::identity::testing {
namespace {

std::vector<std::optional<Address>> AllAddresses(const std::vector<std::string>& lines,
                                                 AddressHeader header) {
  std::vector<std::optional<Address>> all;
  for (std::string line : lines) {
    bool quoted = false;
    std::string element;
    line += header == AddressHeader::kForwarded ? "\n" : ",";  // Ends even an open quote.
    for (std::size_t i = 0; i < line.size(); ++i) {
      const bool end = line[i] == '\n' || (line[i] == ',' && !quoted);
      if (!end) {
        if (header == AddressHeader::kForwarded) {
          if (quoted && line[i] == '\\' && i + 2 < line.size())
            element += line[i++];
          else if (line[i] == '"')
            quoted = !quoted;
        }
        element += line[i];
        continue;
      }
      const std::string_view trimmed = TrimBlanks(element);
      if (!trimmed.empty()) {
        all.push_back(header == AddressHeader::kForwarded ? ParseForwarded(trimmed)
                                                          : ParseForwardedFor(trimmed));
      }
      element.clear();
    }
  }
  return all;
}

std::string_view NameOf(AddressHeader header) {
  switch (header) {
    case AddressHeader::kForwarded:
      return "fOrwarded";
    case AddressHeader::kXRealIp:
      return "X-Real-Ip";
    default:
      return "X-FORWARDED-for";
  }
}

}  // namespace

std::optional<Address> SlowWalk(const std::optional<Address>& peer,
                                const std::vector<std::string>& lines, AddressHeader header,
                                const TrustedProxies& proxies) {
  std::optional<Address> client = peer;
  if (!proxies.TrustsPeer(peer)) return client;
  const auto all = AllAddresses(lines, header);
  for (const std::optional<Address>& next : std::views::reverse(all)) {
    if (!next) return client;
    client = next;
    if (!proxies.Trusts(*next)) return client;
  }
  return client;
}

std::optional<Address> AskFor(const std::optional<Address>& peer,
                              const std::vector<std::string>& lines, AddressHeader header,
                              const TrustedProxies& proxies) {
  std::vector<HeaderLine> headers = {{"Host", "example.com"}};
  for (const std::string& line : lines) {
    headers.push_back({NameOf(header), line});
    headers.push_back({"X-Other", "6.6.6.6"});
  }
  return FindClientAddress(peer, HeaderSpan<HeaderLine>(headers), header, proxies);
}

}  // namespace sluice::identity::testing
