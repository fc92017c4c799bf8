#include "base/key.h"

#include "base/ascii.h"

namespace sluice {
namespace {

bool IsPlain(char c) {
  return IsLetter(c) || IsDigit(c) || c == '-' || c == '_' || c == '.' || c == '~';
}

}  // namespace

void AppendPercentEncoded(std::string_view bytes, std::string& out) {
  for (const char c : bytes) {
    if (IsPlain(c)) {
      out.push_back(c);
    } else {
      out.push_back('%');
      AppendHex(c, out, kHexCapitals);
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
