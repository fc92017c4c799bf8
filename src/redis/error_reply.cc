#include "redis/error_reply.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "redis/slot.h"

namespace sluice::redis {
namespace {

// 0 if there is none.
std::uint16_t NumberIn(std::string_view text) {
  std::uint16_t number = 0;
  const char* const begin = text.data();
  std::from_chars(begin, begin + text.size(), number);
  return number;
}

}  // namespace

std::string_view CodeOf(resp::Value error) {
  constexpr std::string_view kReadOnly = "READONLY";
  const bool wrapped = error.text().find(": -READONLY ") != std::string_view::npos;
  return wrapped ? kReadOnly : error.error_code();
}

bool MayPass(std::string_view code) {
  constexpr std::array<std::string_view, 6> kCodes{"LOADING",    "READONLY", "BUSY",
                                                   "MASTERDOWN", "TRYAGAIN", "CLUSTERDOWN"};
  return std::find(kCodes.begin(), kCodes.end(), code) != kCodes.end();
}

bool IsUnwell(std::string_view code) { return MayPass(code) && code != "TRYAGAIN"; }

Redirection ReadRedirection(std::string_view error) {
  const std::size_t first = error.find(' ');
  if (first == std::string_view::npos) return {};
  const std::size_t second = error.find(' ', first + 1);
  if (second == std::string_view::npos) return {};
  const std::string_view place = error.substr(second + 1);
  const std::size_t colon = place.rfind(':');  // IPv6 addresses stand without brackets here.
  if (colon == std::string_view::npos) return {};
  Redirection redirection;
  redirection.slot = NumberIn(error.substr(first + 1)) % kSlots;
  redirection.address.host = place.substr(0, colon);
  // The server announces host names, but has none.
  if (redirection.address.host == "?") return {};
  redirection.address.port = NumberIn(place.substr(colon + 1));
  return redirection;
}

}  // namespace sluice::redis
