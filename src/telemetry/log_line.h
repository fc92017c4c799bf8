#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

#include <sluice/time.h>

#include "base/key_hash.h"
#include "base/labels.h"

namespace sluice::telemetry {

enum class LogFormat : std::uint8_t { kText, kJson };

/// The worst first.
enum class LogLevel : std::uint8_t { kError, kWarn, kInfo, kDebug };

constexpr std::array<std::string_view, 4> LabelsOf(LogLevel /*any*/) {
  return {"error", "warn", "info", "debug"};
}

/// A client's key, or anything else that must not be read in a log. It is written as a hash under a
/// secret of this process: the same key looks the same until the process ends, and readers can't
/// try out which key it is.
struct HashedKey {
  std::string_view key;
};

/// A name and a value of a log line. Refers to what it is made of.
class LogField {
 public:
  using Value =
      std::variant<std::string_view, std::int64_t, std::uint64_t, double, bool, HashedKey>;

  template <typename T>
  LogField(std::string_view name, const T& value) : name_(name), value_(ValueOf(value)) {}

  [[nodiscard]] std::string_view name() const { return name_; }
  [[nodiscard]] const Value& value() const { return value_; }

 private:
  static Value ValueOf(std::convertible_to<std::string_view> auto const& text) {
    return std::string_view(text);
  }
  static Value ValueOf(bool value) { return value; }
  static Value ValueOf(std::signed_integral auto value) { return std::int64_t{value}; }
  static Value ValueOf(std::unsigned_integral auto value) { return std::uint64_t{value}; }
  static Value ValueOf(double value) { return value; }
  static Value ValueOf(HashedKey key) { return key; }

  std::string_view name_;
  Value value_;
};

/// A line has at most this many bytes, its end included: what a pipe takes whole or not at all.
inline constexpr std::size_t kMaxLineBytes = 4096;

struct LogLine {
  WallTime at;
  LogLevel level;
  std::string_view message;
  std::initializer_list<LogField> fields;
  std::uint64_t suppressed = 0;  ///< Written if it is not 0.
};

/// Appends the line with its end. Long values are cut short, and fields for which there is no room
/// are left out; a field `cut` tells. No input breaks the line or the JSON.
///
///     2026-11-16T00:12:07.000123Z info listening protocol=http port=8080
///     {"time":"2026-11-16T00:12:07.000123Z","level":"info","message":"listening","port":8080}
void AppendLogLine(const LogLine& line, LogFormat format, const KeyHasher& hasher,
                   std::string& out);

}  // namespace sluice::telemetry
