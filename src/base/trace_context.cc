#include "base/trace_context.h"

#include <cstddef>

namespace sluice {
namespace {

// Lower-case hexadecimal digits, as the specification has them.
std::optional<std::uint64_t> Hex(std::string_view digits) {
  std::uint64_t number = 0;
  for (const char c : digits) {
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) return std::nullopt;
    number = number << 4U | static_cast<std::uint64_t>(digit);
  }
  return number;
}

}  // namespace

std::optional<TraceContext> ParseTraceparent(std::string_view text) {
  // 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
  constexpr std::size_t kLength = 55;
  if (text.size() < kLength || text[2] != '-' || text[35] != '-' || text[52] != '-') {
    return std::nullopt;
  }
  const auto version = Hex(text.substr(0, 2));
  const auto high = Hex(text.substr(3, 16));
  const auto low = Hex(text.substr(19, 16));
  const auto parent = Hex(text.substr(36, 16));
  const auto flags = Hex(text.substr(53, 2));
  if (!version || !high || !low || !parent || !flags) return std::nullopt;
  const bool has_valid_end = text.size() == kLength || (*version > 0 && text[kLength] == '-');
  if (*version == 0xffU || !has_valid_end || (*high | *low) == 0 || *parent == 0) {
    return std::nullopt;
  }
  return TraceContext{
      .trace_high = *high, .trace_low = *low, .parent = *parent, .is_sampled = (*flags & 1U) != 0};
}

}  // namespace sluice
