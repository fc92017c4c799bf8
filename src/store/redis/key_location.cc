#include "store/redis/key_location.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "store/redis/message.h"

namespace sluice::store {
namespace {

// One decision may take more than kMaxWork: a single step is worth it up to here.
constexpr std::size_t kMaxWorkOfCall = 210;

}  // namespace

std::vector<KeyLocation> LocationsOfKeys(const StoreCall& call, std::uint16_t slot) {
  std::vector<std::string> keys;
  for (const KeyUse& use : call.uses) AppendRedisKey(use.key, keys.emplace_back());
  std::vector<KeyLocation> locations;
  for (const std::string& key : keys) {
    // The rank among the call's keys, by name.
    const auto rank = std::count_if(keys.begin(), keys.end(),
                                    [&](const std::string& other) { return other < key; });
    locations.push_back({.slot = slot, .key = static_cast<std::uint32_t>(rank)});
  }
  return locations;
}

void GroupKeys(const StoreCall& call, std::vector<KeyLocation>& locations) {
  const std::vector<KeyLocation> keys = LocationsOfKeys(call, 0);
  std::vector<std::size_t> order(locations.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(locations[a].slot, keys[a].key) < std::pair(locations[b].slot, keys[b].key);
  });
  std::size_t work = 0;
  std::uint32_t group = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool same_key = i > 0 && keys[order[i]] == keys[order[i - 1]] &&
                          locations[order[i]].slot == locations[order[i - 1]].slot;
    const std::size_t more = MostWorkOf(call.uses[order[i]]);
    if (work + more > kMaxWork && !same_key) {
      ++group;
      work = 0;
    }
    work += more;
    locations[order[i]].key = group;
  }
}

bool ExceedsOneScriptCall(const StoreCall& call) {
  std::size_t work = 0;
  for (const KeyUse& use : call.uses) work += MostWorkOf(use);
  return work > kMaxWorkOfCall;
}

bool InOneLocation(std::span<const KeyLocation> locations) {
  return std::all_of(locations.begin(), locations.end(),
                     [&](const KeyLocation& location) { return location == locations[0]; });
}

}  // namespace sluice::store
