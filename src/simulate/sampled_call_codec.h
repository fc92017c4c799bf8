#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <sluice/time.h>

#include "match/attributes.h"
#include "simulate/traffic_sample.h"

/// Items of a TrafficRing as words: a header, the time, the cost and the number of the caller, then
/// the attributes as bytes.
namespace sluice::simulate {

/// Longer values are cut; longer names and attributes beyond the bounds are left out.
inline constexpr std::size_t kMaxSampledAttributes = 32;
inline constexpr std::size_t kMaxSampledName = 64;
inline constexpr std::size_t kMaxSampledValue = 512;
inline constexpr std::size_t kMaxSampledText = 2048;  ///< Of all attributes of a call.

inline constexpr std::size_t kItemHeadWords = 4;
inline constexpr std::size_t kMaxItemWords = kItemHeadWords + kMaxSampledText / 8;

/// Levels are exponents of shares: at level 3, one caller in 8 is sampled.
struct ItemHead {
  std::size_t words = kItemHeadWords;
  std::uint32_t attributes = 0;
  std::uint32_t level_before = 0;
  std::uint32_t level_after = 0;
  WallTime time{};

  /// Else a change of level.
  [[nodiscard]] bool is_call() const { return level_before == level_after; }
};

using ItemBuffer = std::array<std::uint64_t, kMaxItemWords>;

/// Both return the words written.
std::span<const std::uint64_t> EncodeCall(match::Attributes attributes, std::int64_t cost,
                                          std::uint64_t caller, std::uint32_t level, WallTime time,
                                          ItemBuffer& buffer);
std::span<const std::uint64_t> EncodeLevelChange(std::uint32_t before, std::uint32_t after,
                                                 WallTime time, ItemBuffer& buffer);

[[nodiscard]] ItemHead DecodeHead(std::uint64_t head, std::uint64_t time);
[[nodiscard]] inline std::uint64_t CallerOf(const std::uint64_t* item) { return item[3]; }
/// Attributes point into the item.
void DecodeCall(const std::uint64_t* item, SampledCall& call);

}  // namespace sluice::simulate
