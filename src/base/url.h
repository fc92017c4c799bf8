#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sluice {

/// The meaning of '+': a blank in queries and forms, itself elsewhere.
enum class PlusSign : std::uint8_t { kItself, kBlank };

/// Decodes percent-encoding. Returns nothing if a '%' is not followed by two hexadecimal digits. A
/// text without escapes is returned as it is; otherwise the result is in `buffer`, which must be at
/// least as long as the text.
[[nodiscard]] std::optional<std::string_view> DecodePercent(std::string_view text, PlusSign plus,
                                                            std::span<char> buffer);

/// Decodes a text outside of queries into `out`. Returns false, and leaves `out` unchanged, if a
/// '%' is not followed by two hexadecimal digits.
[[nodiscard]] bool DecodePercent(std::string_view text, std::string& out);

/// The parts of a request target, not decoded: "/path?query", or "https://host/path?query".
struct RequestTarget {
  std::string_view host;  ///< Empty: the target has none.
  std::string_view path;  ///< Begins with '/', unless the target is invalid.
  std::string_view query;
};

/// Splits a request target. Drops a fragment after '#': some servers accept it and ignore it.
[[nodiscard]] RequestTarget SplitTarget(std::string_view text);

/// Iterates over the decoded parameters of a query (or a form): `a=b&c` is a with value b, and c
/// without a value. Empty parameters (`a&&b`) are skipped; names may repeat.
///
///     std::array<char, 8192> buffer;
///     QueryParameters parameters(request.query, buffer);
///     while (parameters.Next()) Use(parameters.name(), parameters.value());
///     if (parameters.failed()) Refuse(parameters.error());
class QueryParameters {
 public:
  /// `buffer` must be at least as long as the query; it holds decoded names and values.
  QueryParameters(std::string_view query, std::span<char> buffer) : rest_(query), buffer_(buffer) {}

  /// Advances to the next parameter. Returns false at the end, or if it can't be decoded.
  bool Next();

  [[nodiscard]] std::string_view name() const { return name_; }
  [[nodiscard]] std::string_view value() const { return value_; }
  /// True if the parameter has a '='; the value may be empty.
  [[nodiscard]] bool has_value() const { return has_value_; }

  [[nodiscard]] bool failed() const { return !error_.empty(); }
  /// The parameter that can't be decoded, as received.
  [[nodiscard]] std::string_view error() const { return error_; }

 private:
  bool Decode(std::string_view& text);

  std::string_view rest_;
  std::span<char> buffer_;
  std::string_view name_;
  std::string_view value_;
  std::string_view error_;
  bool has_value_ = false;
};

}  // namespace sluice
