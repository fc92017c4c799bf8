#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice {

/// A caller's place in a distributed trace, as the W3C header `traceparent` names it.
struct TraceContext {
  std::uint64_t trace_high = 0;
  std::uint64_t trace_low = 0;
  std::uint64_t parent = 0;  ///< Id of the caller's span; 0: the caller has no trace.
  bool is_sampled = false;   ///< The caller records its span.

  friend bool operator==(const TraceContext&, const TraceContext&) = default;
};

/// Parses a `traceparent` of version 00, or of a later one with further fields. Returns nothing for
/// any other text, and for ids of zeros: such a header is to be ignored.
[[nodiscard]] std::optional<TraceContext> ParseTraceparent(std::string_view text);

}  // namespace sluice
