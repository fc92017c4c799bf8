#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include <sluice/limit.h>

namespace sluice {

/// The names of an enum's members in metrics, logs and APIs, in the order of the enum. Declared
/// next to the enum:
///
///     enum class Protocol : std::uint8_t { kHttp, kResp };
///     constexpr std::array<std::string_view, 2> LabelsOf(Protocol) { return {"http", "resp"}; }
///
/// A member with an empty name has no series.
template <typename Enum>
inline constexpr auto kLabels = LabelsOf(Enum{});

template <typename Enum>
constexpr std::string_view LabelOf(Enum member) {
  return kLabels<Enum>[static_cast<std::size_t>(member)];
}

constexpr std::array<std::string_view, kAlgorithmNames.size()> LabelsOf(Algorithm /*any*/) {
  std::array<std::string_view, kAlgorithmNames.size()> names;
  std::copy(kAlgorithmNames.begin(), kAlgorithmNames.end(), names.begin());
  return names;
}

/// An array with one value for each member of an enum that has labels.
template <typename Enum, typename Value>
struct EnumArray {
  static constexpr std::size_t kSize = kLabels<Enum>.size();

  std::array<Value, kSize> values{};

  Value& operator[](Enum member) { return values[static_cast<std::size_t>(member)]; }
  const Value& operator[](Enum member) const { return values[static_cast<std::size_t>(member)]; }
  void operator+=(const EnumArray& other) {
    for (std::size_t i = 0; i < kSize; ++i) values[i] += other.values[i];
  }
};

}  // namespace sluice
