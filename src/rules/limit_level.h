#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
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

/// One quantity as one level has it. Which of the values means something depends on the quantity.
struct QuantityValue {
  std::int64_t whole = 0;
  Decimal decimal;
  Micros duration{0};  ///< Of a rate: what it is per; 0 if it does not say.
  Algorithm algorithm = Algorithm::kTokenBucket;
  Anchor anchor = Anchor::kEpoch;
  config_text::Field field;  ///< Not set: the level does not have it.
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
  /// Whether it says how much.
  [[nodiscard]] bool has_amount() const {
    return (*this)[Quantity::kCapacity] || (*this)[Quantity::kLimit];
  }
};

/// The fields that say something of a limit, wherever they stand.
const std::vector<std::string_view>& QuantityFields();

/// Reads those of the mapping's fields that say something of a limit. `mapping` has all of
/// QuantityFields among its names.
LimitLevel ReadLimitLevel(const config_text::Mapping& mapping, Level level);

/// Reads a rate, "100 per minute", that stands where a limit is expected.
LimitLevel ReadLimitText(config_text::Reading& reading, const config_text::Field& field,
                         Level level);

/// The limits of a level: of all, and of those with a name.
struct NamedLevels {
  LimitLevel all;
  std::vector<std::pair<config_text::Field, LimitLevel>> by_name;

  [[nodiscard]] bool empty() const { return all.empty() && by_name.empty(); }
  [[nodiscard]] const LimitLevel* Find(std::string_view name) const;
};

/// Lays a stronger level over a weaker one. Numbers that say the same in other words replace each
/// other: `limit` takes the place of `capacity` and `refill_rate`, and the other way round.
void LayOver(LimitLevel& weaker, const LimitLevel& stronger);

[[nodiscard]] bool IsCalendar(Anchor anchor);

}  // namespace sluice::rules
