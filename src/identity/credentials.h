#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "identity/headers.h"

/// Where clients put what they are known by.
namespace sluice::identity {

struct Credential {
  enum class Status : std::uint8_t {
    kAbsent,  ///< Or empty.
    kPresent,
    kSeveral,  ///< Different ones: the next reader might take another one than we do.
  };
  Status status = Status::kAbsent;
  std::string_view value{};

  /// One more was found.
  void Add(std::string_view found) {
    if (found.empty()) return;
    if (status == Status::kPresent && found != value) status = Status::kSeveral;
    if (status != Status::kAbsent) return;
    status = Status::kPresent;
    value = found;
  }
};

[[nodiscard]] Credential FindHeader(const Headers& headers, std::string_view name);
/// Returns the token after the scheme Bearer in Authorization; empty for other schemes.
[[nodiscard]] Credential FindBearer(const Headers& headers);
/// A cookie's value as it was sent.
[[nodiscard]] Credential FindCookie(const Headers& headers, std::string_view name);
/// Decoded; what had to be decoded lies in `room`. Parameters that can't be decoded are passed
/// over.
[[nodiscard]] Credential FindQuery(std::string_view query, std::string_view name,
                                   std::string& room);

}  // namespace sluice::identity
