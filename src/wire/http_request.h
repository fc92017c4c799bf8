#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "wire/http_name.h"

namespace sluice::wire {

enum class HttpMethod : std::uint8_t {
  kOther,
  kGet,
  kHead,
  kPost,
  kPut,
  kPatch,
  kDelete,
  kOptions
};

struct HttpHeader {
  std::string_view name;   ///< As it was sent.
  std::string_view value;  ///< Without the blanks around it; never a control byte but tabs.
  HttpName id = HttpName::kOther;
};

/// A parsed request. All texts are views of the input.
struct HttpRequest {
  HttpMethod verb = HttpMethod::kOther;
  std::string_view method;  ///< As it was sent.
  std::string_view target;  ///< As it was sent.
  /// The target's path up to '?', not decoded: begins with '/', or is "*" for OPTIONS.
  std::string_view path;
  std::string_view query;  ///< The part after '?', not decoded.
  /// The requested host: of an absolute target, otherwise of the Host header.
  std::string_view host;
  int minor_version = 1;  ///< HTTP/1.0 or HTTP/1.1
  bool keep_alive = true;
  bool expects_continue = false;
  std::span<const HttpHeader> headers;  ///< In the order in which they were sent.
  std::string_view body;                ///< Chunks are concatenated.

  /// Returns the first header with this name (there may be more in `headers`), or null.
  [[nodiscard]] const HttpHeader* Find(HttpName name) const noexcept {
    const std::uint8_t place = first_[static_cast<std::size_t>(name)];
    return place == 0 ? nullptr : &headers[place - 1U];
  }
  /// Returns the first header with any name, ignoring case, or null.
  [[nodiscard]] const HttpHeader* Find(std::string_view name) const noexcept;

  /// Returns the first value with this name; empty if there is none.
  [[nodiscard]] std::string_view Get(HttpName name) const noexcept {
    const HttpHeader* const header = Find(name);
    return header == nullptr ? std::string_view{} : header->value;
  }
  [[nodiscard]] std::string_view Get(std::string_view name) const noexcept {
    const HttpHeader* const header = Find(name);
    return header == nullptr ? std::string_view{} : header->value;
  }

 private:
  friend class HttpHead;
  /// Index in `headers` plus one; 0: none, and always for kOther.
  std::array<std::uint8_t, kHttpNames.size()> first_{};
};

}  // namespace sluice::wire
