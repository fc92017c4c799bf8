#include "base/url.h"

#include <algorithm>
#include <cassert>

#include "base/ascii.h"

namespace sluice {
namespace {

bool IsCoded(char c, PlusSign plus) { return c == '%' || (c == '+' && plus == PlusSign::kBlank); }

}  // namespace

std::optional<std::string_view> DecodePercent(std::string_view text, PlusSign plus,
                                              std::span<char> buffer) {
  std::size_t at = 0;
  while (at < text.size() && !IsCoded(text[at], plus)) ++at;
  if (at == text.size()) return text;

  assert(buffer.size() >= text.size());
  std::copy_n(text.begin(), at, buffer.begin());
  std::size_t size = at;
  while (at < text.size()) {
    const char c = text[at];
    if (c != '%') {
      buffer[size++] = c == '+' && plus == PlusSign::kBlank ? ' ' : c;
      ++at;
      continue;
    }
    const int byte = HexByte(text.substr(at + 1));
    if (byte < 0) return std::nullopt;
    buffer[size++] = static_cast<char>(byte);
    at += 3;
  }
  return std::string_view(buffer.data(), size);
}

bool DecodePercent(std::string_view text, std::string& out) {
  std::string buffer(text.size(), '\0');
  const auto decoded = DecodePercent(text, PlusSign::kItself, buffer);
  if (decoded) out = *decoded;
  return decoded.has_value();
}

RequestTarget SplitTarget(std::string_view text) {
  RequestTarget target;
  text = text.substr(0, text.find('#'));
  const std::size_t mark = std::min(text.find('?'), text.size());
  target.path = text.substr(0, mark);
  target.query = text.substr(std::min(mark + 1, text.size()));
  const std::size_t scheme = target.path.find("://");
  if (scheme == std::string_view::npos || scheme > target.path.find('/')) return target;
  target.path.remove_prefix(scheme + 3);
  target.host = target.path.substr(0, target.path.find('/'));
  target.path.remove_prefix(target.host.size());
  if (target.path.empty()) target.path = "/";
  return target;
}

bool QueryParameters::Next() {
  if (failed()) return false;
  while (rest_.starts_with('&')) rest_.remove_prefix(1);
  if (rest_.empty()) return false;

  const std::string_view parameter = rest_.substr(0, rest_.find('&'));
  rest_.remove_prefix(parameter.size());
  const std::size_t equals = std::min(parameter.find('='), parameter.size());
  has_value_ = equals < parameter.size();
  name_ = parameter.substr(0, equals);
  value_ = has_value_ ? parameter.substr(equals + 1) : std::string_view{};
  if (Decode(name_) && Decode(value_)) return true;
  error_ = parameter;
  return false;
}

bool QueryParameters::Decode(std::string_view& text) {
  const auto decoded = DecodePercent(text, PlusSign::kBlank, buffer_);
  if (!decoded) return false;
  text = *decoded;
  if (text.data() == buffer_.data()) buffer_ = buffer_.subspan(text.size());
  return true;
}

}  // namespace sluice
