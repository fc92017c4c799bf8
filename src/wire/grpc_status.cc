#include "wire/grpc_status.h"

#include <array>
#include <cstddef>

#include "base/ascii.h"

namespace sluice::wire {

std::string_view NumberOf(GrpcStatus status) {
  constexpr std::array<std::string_view, 17> kNumbers{
      "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16"};
  return kNumbers[static_cast<std::size_t>(status)];
}

void AppendGrpcMessage(std::string_view message, std::string& out) {
  for (const char c : message) {
    if (c >= ' ' && c <= '~' && c != '%') {
      out += c;
    } else {
      out += '%';
      AppendHex(c, out, kHexCapitals);
    }
  }
}

}  // namespace sluice::wire
