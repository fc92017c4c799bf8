#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <sluice/time.h>

namespace sluice::control {

/// The largest rule document that is stored.
inline constexpr std::size_t kMaxDocumentBytes = std::size_t{4} << 20;
/// Versions that a store keeps.
inline constexpr std::size_t kVersionsKept = 100;

/// The number of a version of the rules. A new epoch begins when a store has lost its versions, so
/// that numbers of the lost ones are never reused.
struct VersionId {
  std::uint64_t epoch = 0;
  std::uint64_t number = 0;  ///< 1, 2, …; 0: no version.

  friend auto operator<=>(const VersionId&, const VersionId&) = default;
};

/// Returns "<epoch>.<number>".
[[nodiscard]] std::string ToText(const VersionId& id);
/// Parses "<epoch>.<number>", or a number alone, whose epoch is then 0.
[[nodiscard]] std::optional<VersionId> ParseVersionId(std::string_view text);

/// The identity of a version: the same numbers with another hash are another version.
struct VersionRef {
  VersionId id{};
  std::string hash{};  ///< SHA-256 of the text, in hexadecimal digits.

  friend bool operator==(const VersionRef&, const VersionRef&) = default;
};

/// Returns the entity tag of a version, with its quotes: "<epoch>.<number>-<first 12 digits>".
[[nodiscard]] std::string EntityTag(const VersionRef& version);

/// The author of a change.
struct Origin {
  std::string author{};          ///< Such as "admin token" or a certificate's subject.
  std::string authentication{};  ///< "token", "local", "server".
  std::string address{};         ///< Of the client; empty: none.

  friend bool operator==(const Origin&, const Origin&) = default;
};

/// How a version came to be.
enum class VersionSource : std::uint8_t {
  kApi,        ///< A commit through the API.
  kSeed,       ///< The rule file that an empty store was filled with.
  kRestored,   ///< The text of an earlier version.
  kRecovered,  ///< A node's copy, after the store lost its versions.
};

[[nodiscard]] std::string_view NameOf(VersionSource source);
[[nodiscard]] std::optional<VersionSource> ParseVersionSource(std::string_view name);

/// A version without its text. Immutable once stored.
struct VersionInfo {
  VersionRef ref{};
  Origin origin{};
  WallTime time{};
  std::string message{};
  VersionSource source = VersionSource::kApi;
  VersionId restores{};  ///< With kRestored and kRecovered: the version whose text this is.
  /// Of the request that made it: a digest of its content, ':' and its key. May be empty.
  std::string idempotency_key{};
  std::size_t bytes = 0;  ///< Of its text.
};

struct Version {
  VersionInfo info{};
  std::string text{};
};

/// Returns a version of this text: `info` with its number, hash and size.
[[nodiscard]] Version MakeVersion(const VersionId& id, std::string text, VersionInfo info = {});

}  // namespace sluice::control
