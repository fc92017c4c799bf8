#include "identity/credentials.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "base/ascii.h"
#include "base/url.h"

namespace sluice::identity {
namespace {

std::string_view TakeUntil(std::string_view& text, char separator) {
  const std::string_view piece = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(piece.size() + 1, text.size()));
  return piece;
}

}  // namespace

Credential FindHeader(const Headers& headers, std::string_view name) {
  Credential credential;
  std::size_t at = 0;
  std::string_view value;
  while (headers.Next(name, at, value)) credential.Add(TrimBlanks(value));
  return credential;
}

Credential FindBearer(const Headers& headers) {
  constexpr std::string_view kScheme = "bearer ";
  Credential credential = FindHeader(headers, "authorization");
  if (credential.status != Credential::Status::kPresent) return credential;
  const std::string_view value = credential.value;
  if (!EqualIgnoringCase(value.substr(0, kScheme.size()), kScheme)) return {};
  credential.value = TrimBlanks(value.substr(kScheme.size()));
  return credential;
}

Credential FindCookie(const Headers& headers, std::string_view name) {
  Credential credential;
  std::size_t at = 0;
  std::string_view line;
  while (headers.Next("cookie", at, line)) {
    while (!line.empty()) {
      std::string_view value = TakeUntil(line, ';');
      if (TrimBlanks(TakeUntil(value, '=')) == name) credential.Add(TrimBlanks(value));
    }
  }
  return credential;
}

Credential FindQuery(std::string_view query, std::string_view name, std::string& buffer) {
  Credential credential;
  buffer.resize(std::max(buffer.size(), query.size()));
  std::span<char> left(buffer);
  while (!query.empty()) {
    const std::string_view piece = TakeUntil(query, '&');
    QueryParameters parameter(piece, left);
    if (!parameter.Next() || parameter.name() != name) continue;
    credential.Add(parameter.value());
    left = left.subspan(piece.size());
  }
  return credential;
}

}  // namespace sluice::identity
