#include "identity/forwarded.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/ascii.h"

namespace sluice::identity {
namespace {

// The longest node is an address in brackets with a port, or a name that hides one.
constexpr std::size_t kMaxNode = 64;

bool IsPort(std::string_view text) {
  return !text.empty() && text.size() <= 5 && std::all_of(text.begin(), text.end(), IsDigit);
}

// RFC 7239 also allows obfuscated ports.
bool IsObfuscated(std::string_view text) {
  return text.size() > 1 && text[0] == '_' && std::all_of(text.begin() + 1, text.end(), [](char c) {
           return IsDigit(c) || IsLetter(c) || c == '.' || c == '_' || c == '-';
         });
}

bool IsToken(char c) {
  constexpr std::string_view kOther = "!#$%&'*+-.^_`|~";
  return IsDigit(c) || IsLetter(c) || kOther.find(c) != std::string_view::npos;
}

// Colons and brackets are not allowed in unquoted tokens, but some proxies write addresses so, and
// it is unambiguous.
bool IsBareValue(char c) { return IsToken(c) || c == ':' || c == '[' || c == ']'; }

enum class BareIpv6 : bool { kRefused, kAllowed };

std::optional<Address> ParseNode(std::string_view node, BareIpv6 bare,
                                 bool (*is_port)(std::string_view)) {
  if (node.starts_with('[')) {
    const std::size_t end = node.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view inside = node.substr(1, end - 1);
    const std::string_view behind = node.substr(end + 1);
    if (inside.find(':') == std::string_view::npos) return std::nullopt;
    if (!behind.empty() && (behind[0] != ':' || !is_port(behind.substr(1)))) return std::nullopt;
    return ParseAddress(inside);
  }
  const std::size_t colon = node.find(':');
  if (colon == std::string_view::npos) return ParseAddress(node);
  if (node.find(':', colon + 1) != std::string_view::npos) {
    return bare == BareIpv6::kAllowed ? ParseAddress(node) : std::nullopt;
  }
  if (!is_port(node.substr(colon + 1))) return std::nullopt;
  return ParseAddress(node.substr(0, colon));
}

// Removes a token or a quoted string from the text. Quoted text is unescaped into `buffer`, unless
// it is too long.
struct Value {
  std::array<char, kMaxNode> buffer;
  std::size_t size = 0;
  bool fits = true;

  void Put(char c) {
    fits = fits && size < buffer.size();
    if (fits) buffer[size++] = c;
  }
  [[nodiscard]] std::string_view text() const { return {buffer.data(), size}; }
};

bool TakeQuoted(std::string_view& text, Value& value) {
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return true;
    }
    if (text[i] == '\\') ++i;
    if (i == text.size()) return false;
    if (IsControl(text[i]) && text[i] != '\t') return false;
    value.Put(text[i]);
  }
  return false;
}

bool TakeValue(std::string_view& text, Value& value) {
  if (text.starts_with('"')) return TakeQuoted(text, value);
  std::size_t size = 0;
  for (; size < text.size() && IsBareValue(text[size]); ++size) value.Put(text[size]);
  text.remove_prefix(size);
  return size > 0;
}

std::string_view TakeName(std::string_view& text) {
  const std::size_t size =
      static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), IsToken) - text.begin());
  const std::string_view name = text.substr(0, size);
  text.remove_prefix(size);
  return name;
}

template <typename FindEnd>
bool Take(std::string_view& list, std::string_view& element, const FindEnd& find_end) {
  while (!list.empty()) {
    const std::size_t end = std::min(find_end(list), list.size());
    element = TrimBlanks(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
    if (!element.empty()) return true;
  }
  return false;
}

}  // namespace

bool TakeElement(std::string_view& list, std::string_view& element) {
  return Take(list, element, [](std::string_view text) { return text.find(','); });
}

bool TakeForwardedElement(std::string_view& list, std::string_view& element) {
  return Take(list, element, [](std::string_view text) {
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '"') quoted = !quoted;
      if (text[i] == '\\' && quoted) ++i;
      if (i < text.size() && text[i] == ',' && !quoted) return i;
    }
    return text.size();
  });
}

std::optional<Address> ParseForwardedFor(std::string_view element) {
  return ParseNode(element, BareIpv6::kAllowed, IsPort);
}

std::optional<Address> ParseForwarded(std::string_view element) {
  std::optional<Address> address;
  bool said = false;
  for (std::string_view rest = element;;) {
    const std::string_view name = TakeName(rest);
    if (name.empty() || !rest.starts_with('=')) return std::nullopt;
    rest.remove_prefix(1);
    Value value;
    if (!TakeValue(rest, value)) return std::nullopt;
    if (EqualIgnoringCase(name, "for")) {
      if (said || !value.fits) return std::nullopt;
      said = true;
      address = ParseNode(value.text(), BareIpv6::kRefused,
                          [](std::string_view port) { return IsPort(port) || IsObfuscated(port); });
    }
    rest = TrimBlanks(rest);
    if (rest.empty()) return address;
    if (rest[0] != ';') return std::nullopt;
    rest = TrimBlanks(rest.substr(1));
    if (rest.empty()) return address;
  }
}

}  // namespace sluice::identity
