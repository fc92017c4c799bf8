#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "identity/headers.h"

/// Lookup of credentials in a request.
namespace sluice::identity {

struct Credential {
  enum class Status : std::uint8_t {
    kAbsent,  ///< Absent or empty.
    kPresent,
    kSeveral,  ///< Different values: another parser might use another one.
  };
  Status status = Status::kAbsent;
  std::string_view value{};

  /// Adds an occurrence.
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
/// Returns a cookie's value as received.
[[nodiscard]] Credential FindCookie(const Headers& headers, std::string_view name);
/// Returns the decoded value of a query parameter; it may point into `buffer`. Parameters that
/// can't be decoded are skipped.
[[nodiscard]] Credential FindQuery(std::string_view query, std::string_view name,
                                   std::string& buffer);

}  // namespace sluice::identity
