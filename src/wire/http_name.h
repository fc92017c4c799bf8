#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/ascii.h"

namespace sluice::wire {

/// Header names known to the server, recognized while a request is parsed so that lookups are
/// cheap. All others are kOther.
enum class HttpName : std::uint8_t {
  kOther,
  kAccept,
  kAuthorization,
  kConnection,
  kContentLength,
  kContentType,
  kCookie,
  kExpect,
  kForwarded,
  kHost,
  kOrigin,
  kTransferEncoding,
  kUserAgent,
  kXApiKey,
  kXForwardedFor,
  kXForwardedHost,
  kXForwardedMethod,
  kXForwardedProto,
  kXForwardedUri,
  kXOriginalMethod,
  kXOriginalUrl,
  kXRealIp,
  kXRequestId,
};

/// In lower case, in the order of the enum.
inline constexpr std::array<std::string_view, 23> kHttpNames = {
    "",
    "accept",
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "cookie",
    "expect",
    "forwarded",
    "host",
    "origin",
    "transfer-encoding",
    "user-agent",
    "x-api-key",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-method",
    "x-forwarded-proto",
    "x-forwarded-uri",
    "x-original-method",
    "x-original-url",
    "x-real-ip",
    "x-request-id",
};

/// Returns the id of a name, ignoring case.
[[nodiscard]] HttpName FindHttpName(std::string_view name) noexcept;

}  // namespace sluice::wire
