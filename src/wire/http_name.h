#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/ascii.h"

namespace sluice::wire {

/// Names of headers that the server looks for: recognised while a request is read, so that finding
/// them again costs nothing. All others are kOther.
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

/// In lower case, by their number.
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

/// Which name this is, in upper or lower case.
[[nodiscard]] HttpName FindHttpName(std::string_view name) noexcept;

}  // namespace sluice::wire
