#include "base/key.h"

namespace sluice {
namespace {

constexpr bool IsPlain(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.' || c == '~';
}

}  // namespace

void AppendPercentEncoded(std::string_view bytes, std::string& out) {
  constexpr char kHex[] = "0123456789ABCDEF";
  for (const char byte : bytes) {
    const auto c = static_cast<unsigned char>(byte);
    if (IsPlain(c)) {
      out.push_back(byte);
    } else {
      out.push_back('%');
      out.push_back(kHex[c >> 4]);
      out.push_back(kHex[c & 15]);
    }
  }
}

void AppendEncodedValues(std::span<const std::string_view> values, std::string& out) {
  bool first = true;
  for (const std::string_view value : values) {
    if (!first) out.push_back(':');
    first = false;
    AppendPercentEncoded(value, out);
  }
}

void AppendKeyName(const Key& key, std::string& out) {
  out.push_back('{');
  AppendPercentEncoded(key.tag, out);
  out.append("}:").append(key.scope);
  out.push_back(':');
  out.append(key.rest);
}

}  // namespace sluice
