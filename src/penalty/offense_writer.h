#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <sluice/time.h>

#include "control/entry_service.h"
#include "control/record_service.h"
#include "penalty/policy.h"
#include "penalty/strike_batch.h"

namespace sluice::penalty {

struct OffenseWriterOptions {
  std::size_t max_penalties = 20'000;  ///< Of all nodes, also ended ones until they are forgotten.
  std::function<std::uint64_t()> random{};  ///< Required.
};

/// What became of some offenses.
struct OffenseResult {
  std::size_t penalized = 0;
  std::size_t shadow = 0;     ///< Of these, in shadow.
  std::size_t displaced = 0;  ///< Penalties that made room.
  /// Without a penalty: keys with bytes that no entry can have, or matchers that would cost other
  /// calls too much (EntryTable::TakesPenalty).
  std::size_t refused = 0;
  std::size_t failed = 0;  ///< The control store could not be written.
  std::string error{};     ///< Of the last failure.
};

/// Makes penalties of offenses, each by compare-and-swap with the caller's last penalty: if several
/// nodes notice an offense, one of them writes it, and the others' offenses are void. Blocks while
/// the control store works. Thread-safe as far as its services are.
class OffenseWriter {
 public:
  /// Offenses of one write.
  static constexpr std::size_t kMaxPerWrite = 200;

  /// Both must outlive it.
  OffenseWriter(control::RecordService& records, const control::EntryService& entries,
                OffenseWriterOptions options)
      : records_(records), entries_(entries), options_(std::move(options)) {}

  /// `now` is the store's time; `rules_version` is named in the entries.
  [[nodiscard]] OffenseResult Write(std::span<const Offense> offenses, WallTime now,
                                    const std::string& rules_version) const;

 private:
  enum class Prepared : std::uint8_t {
    kReady,
    kVoid,     ///< The caller is penalized already, or the node has learned of a penalty meanwhile.
    kRefused,  ///< There can't be such an entry.
  };
  [[nodiscard]] Prepared Prepare(const Offense& offense, WallTime now,
                                 const std::string& rules_version,
                                 control::RecordWrite& write) const;
  void WriteSome(std::span<const Offense> offenses, WallTime now, const std::string& rules_version,
                 OffenseResult& result) const;

  control::RecordService& records_;
  const control::EntryService& entries_;
  const OffenseWriterOptions options_;
};

/// Returns the live entry of a penalty.
[[nodiscard]] match::Entry EntryOf(const Offense& offense, const NextPenalty& next, WallTime now,
                                   const std::string& rules_version);

}  // namespace sluice::penalty
