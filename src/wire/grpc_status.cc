#include "wire/grpc_status.h"

#include <array>
#include <cstddef>

namespace sluice::wire {

std::string_view NumberOf(GrpcStatus status) {
  constexpr std::array<std::string_view, 17> kNumbers{
      "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16"};
  return kNumbers[static_cast<std::size_t>(status)];
}

void AppendGrpcMessage(std::string_view message, std::string& out) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (const char c : message) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7F && c != '%') {
      out += c;
    } else {
      out += '%';
      out += kDigits[byte >> 4];
      out += kDigits[byte & 0xF];
    }
  }
}

}  // namespace sluice::wire
