#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json_writer.h"
#include "match/rule_set.h"
#include "simulate/trace_row.h"
#include "simulate/traffic_sample.h"

namespace sluice::simulate {

enum class KeyText : std::uint8_t {
  kHashed,  ///< A keyed hash stands for each API key: equal keys stay equal.
  kPlain,
};

struct TraceWriterOptions {
  KeyText keys = KeyText::kHashed;
  /// Of the hash. Empty: a random one, so that keys of different files can't be compared.
  std::string secret{};
  /// Resolves what rules know of raw keys before these are hashed: `tier`, and whether a key is
  /// known (an unknown one is left out). Null: nothing is resolved. Not owned.
  const match::RuleSet* rules = nullptr;
};

/// Writes calls as JSON lines that TraceReader reads. Invalid UTF-8 becomes U+FFFD. For one thread
/// at a time.
///
/// With hashed keys, replayed calls get the same decisions unless a list, a condition or an
/// override names keys.
class TraceWriter {
 public:
  explicit TraceWriter(const TraceWriterOptions& options);

  /// Appends a call as one line.
  void Append(const TraceRow& row, std::string& out);

 private:
  void AppendHashed(const TraceRow& row, JsonWriter& json);
  std::string HashOf(std::string_view key) const;

  const TraceWriterOptions options_;
  std::string secret_;
  match::Match match_;
};

/// Returns all calls of a sample as a trace.
[[nodiscard]] std::string WriteTrace(const TrafficSample& sample,
                                     const TraceWriterOptions& options);

}  // namespace sluice::simulate
