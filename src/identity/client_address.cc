#include "identity/client_address.h"

#include <array>
#include <utility>

#include "base/ascii.h"
#include "identity/forwarded.h"

namespace sluice::identity {
namespace {

constexpr std::array<std::pair<std::string_view, AddressHeader>, 4> kNames = {{
    {"none", AddressHeader::kNone},
    {"x-forwarded-for", AddressHeader::kXForwardedFor},
    {"x-real-ip", AddressHeader::kXRealIp},
    {"forwarded", AddressHeader::kForwarded},
}};

// Evaluates the search from the right in one pass from the left: the client, assuming that all
// following addresses are trusted.
class Walk {
 public:
  explicit Walk(const TrustedProxies& proxies) : proxies_(proxies) {}

  void Add(const std::optional<Address>& address) {
    if (!address || !client_ || !proxies_.Trusts(*address)) client_ = address;
  }
  [[nodiscard]] const std::optional<Address>& client() const { return client_; }

 private:
  const TrustedProxies& proxies_;
  std::optional<Address> client_;
};

std::optional<Address> RealIp(const Headers& headers) {
  std::size_t at = 0;
  std::string_view value;
  std::string_view second;
  if (!headers.Next("x-real-ip", at, value) || headers.Next("x-real-ip", at, second)) {
    return std::nullopt;
  }
  return ParseForwardedFor(TrimBlanks(value));
}

std::optional<Address> LastOfList(const Headers& headers, AddressHeader header,
                                  const TrustedProxies& proxies) {
  const bool forwarded = header == AddressHeader::kForwarded;
  const std::string_view name = forwarded ? "forwarded" : "x-forwarded-for";
  Walk walk(proxies);
  std::size_t at = 0;
  std::string_view line;
  std::string_view element;
  while (headers.Next(name, at, line)) {
    // Each line is whole in itself: a quote that a client leaves open does not swallow the line
    // that a proxy adds.
    if (forwarded) {
      while (TakeForwardedElement(line, element)) walk.Add(ParseForwarded(element));
    } else {
      while (TakeElement(line, element)) walk.Add(ParseForwardedFor(element));
    }
  }
  return walk.client();
}

}  // namespace

Result<TrustedProxies> TrustedProxies::Parse(const std::vector<std::string>& networks) {
  TrustedProxies proxies;
  std::vector<Network> parsed;
  for (const std::string& text : networks) {
    if (text == "unix") {
      proxies.unix_ = true;
    } else if (const auto network = ParseNetwork(text)) {
      parsed.push_back(*network);
    } else {
      return Error{ErrorCode::kInvalidOptions,
                   "trusted proxy \"" + text + "\": " + NetworkProblem(text).value_or("is wrong")};
    }
  }
  proxies.networks_ = NetworkTable(parsed);
  return proxies;
}

std::optional<AddressHeader> ParseAddressHeader(std::string_view name) {
  for (const auto& [known, header] : kNames) {
    if (EqualIgnoringCase(name, known)) return header;
  }
  return std::nullopt;
}

std::optional<Address> FindClientAddress(const std::optional<Address>& peer, const Headers& headers,
                                         AddressHeader header, const TrustedProxies& proxies) {
  if (header == AddressHeader::kNone || !proxies.TrustsPeer(peer)) return peer;
  const std::optional<Address> client =
      header == AddressHeader::kXRealIp ? RealIp(headers) : LastOfList(headers, header, proxies);
  return client ? client : peer;
}

}  // namespace sluice::identity
