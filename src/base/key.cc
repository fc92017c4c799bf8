#include "base/key.h"

#include "base/ascii.h"
#include "base/url.h"

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

bool ParseKeyName(std::string_view name, std::string& tag, Key& key) {
  const std::size_t close = name.find("}:");
  if (!name.starts_with('{') || close == std::string_view::npos) return false;
  tag.clear();
  if (!DecodePercent(name.substr(1, close - 1), tag)) return false;
  const std::string_view rest = name.substr(close + 2);
  const std::size_t limit = rest.find(':');
  if (limit == std::string_view::npos) return false;
  const std::size_t end = rest.find(':', limit + 1);
  if (end == std::string_view::npos) return false;
  key = {.scope = rest.substr(0, end), .tag = tag, .rest = rest.substr(end + 1)};
  return true;
}

}  // namespace sluice
