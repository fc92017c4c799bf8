#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/limit.h>
#include <sluice/time.h>

#include "base/decimal.h"
#include "config_text/mapping.h"
#include "config_text/reading.h"
#include "rules/model.h"

namespace sluice::rules {

/// The quantities of a limit. Each level may set each of them.
enum class Quantity : std::uint8_t {
  kAlgorithm,
  kCapacity,
  kRefillRate,
  kRefillInterval,
  kBurstMultiplier,
  kBurstAllowance,
  kLimit,
  kWindow,
  kAnchor,
  kTimeToLive,
  kMaxCost,
  kMaxSettlement,
};
inline constexpr std::size_t kQuantities = 12;

/// The value of one quantity at one level. The quantity determines which member is used.
struct QuantityValue {
  std::int64_t whole = 0;
  Decimal decimal;
  Micros duration{0};  ///< Of a rate: its period; 0 if not given.
  Algorithm algorithm = Algorithm::kTokenBucket;
  Anchor anchor = Anchor::kEpoch;
  bool is_money = false;     ///< `whole` is in nano-dollars, written as USD.
  config_text::Field field;  ///< Not set: the level does not have the quantity.
  Level level = Level::kBuiltIn;

  explicit operator bool() const { return static_cast<bool>(field); }
};

/// The quantities that one level sets, or several combined.
struct LimitLevel {
  std::array<QuantityValue, kQuantities> given;

  QuantityValue& operator[](Quantity quantity) { return given[static_cast<std::size_t>(quantity)]; }
  const QuantityValue& operator[](Quantity quantity) const {
    return given[static_cast<std::size_t>(quantity)];
  }
  [[nodiscard]] bool empty() const;
  /// True if it has a capacity or a limit.
  [[nodiscard]] bool has_amount() const {
    return (*this)[Quantity::kCapacity] || (*this)[Quantity::kLimit];
  }
};

/// Returns the names of the fields of quantities, at all levels.
const std::vector<std::string_view>& QuantityFields();

/// Reads the quantities of a mapping, whose names include QuantityFields.
LimitLevel ReadLimitLevel(const config_text::Mapping& mapping, Level level);

/// Reads a rate, "100 per minute", in place of a limit's mapping.
LimitLevel ReadLimitText(config_text::Reading& reading, const config_text::Field& field,
                         Level level);

/// The quantities of a level: for all limits, and by name.
struct NamedLevels {
  LimitLevel all;
  std::vector<std::pair<config_text::Field, LimitLevel>> by_name;

  [[nodiscard]] bool empty() const { return all.empty() && by_name.empty(); }
  [[nodiscard]] const LimitLevel* Find(std::string_view name) const;
};

/// Overrides a weaker level by a stronger one. Alternative quantities replace each other: `limit`
/// replaces `capacity` and `refill_rate`, and vice versa.
void LayOver(LimitLevel& weaker, const LimitLevel& stronger);

[[nodiscard]] bool IsCalendar(Anchor anchor);
/// Returns the word for an anchor in files.
[[nodiscard]] std::string AnchorName(Anchor anchor);

}  // namespace sluice::rules
