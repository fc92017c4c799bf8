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

/// The text with its %XX replaced by the bytes they stand for, or nothing if a '%' is not followed
/// by two hexadecimal digits. A text without any is returned as it is; another is put into `room`,
/// which is as long as the text at least.
[[nodiscard]] std::optional<std::string_view> DecodePercent(std::string_view text, PlusSign plus,
                                                            std::span<char> room);

/// The same into a string of its own, for texts outside queries. False: a '%' is not followed by
/// two hexadecimal digits, and `out` is as it was.
[[nodiscard]] bool DecodePercent(std::string_view text, std::string& out);

/// The parts of a request target, not decoded: "/path?query", or "https://host/path?query".
struct RequestTarget {
  std::string_view host;  ///< Empty: the target names none.
  std::string_view path;  ///< Begins with '/', unless the target makes no sense.
  std::string_view query;
};

/// The fragment after '#' belongs to neither path nor query: some servers let it through, and
/// answer what stands before it.
[[nodiscard]] RequestTarget SplitTarget(std::string_view text);

/// The parameters of a query (or a form), one by one and decoded: `a=b&c` is a with b, and c with
/// nothing. Empty parameters (`a&&b`) are passed over; names may come more than once.
///
///     std::array<char, 8192> room;
///     QueryParameters parameters(request.query, room);
///     while (parameters.Next()) Use(parameters.name(), parameters.value());
///     if (parameters.failed()) Refuse(parameters.error());
class QueryParameters {
 public:
  /// `room` is as long as the query at least; what was decoded stays there.
  QueryParameters(std::string_view query, std::span<char> room) : rest_(query), room_(room) {}

  /// Goes on to the next parameter, if there is one and it can be decoded.
  bool Next();

  [[nodiscard]] std::string_view name() const { return name_; }
  [[nodiscard]] std::string_view value() const { return value_; }
  /// Whether there is a '=', though nothing may follow it.
  [[nodiscard]] bool has_value() const { return has_value_; }

  [[nodiscard]] bool failed() const { return !error_.empty(); }
  /// The parameter that can't be decoded, as it was sent.
  [[nodiscard]] std::string_view error() const { return error_; }

 private:
  bool Decode(std::string_view& text);

  std::string_view rest_;
  std::span<char> room_;
  std::string_view name_;
  std::string_view value_;
  std::string_view error_;
  bool has_value_ = false;
};

}  // namespace sluice
