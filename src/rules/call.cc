#include "rules/call.h"

#include <utility>

#include "base/text_hash.h"

namespace sluice::rules {
namespace {

constexpr std::size_t kShort = 8;

}  // namespace

Slots::Slots() : places_(32) {
  // In the order of the fixed slots.
  for (const char* name : {"api_key", "ip", "endpoint", "tier", "api_key_hash", "ip_network"}) {
    Intern(name);
  }
}

Slot Slots::Find(std::string_view name) const {
  const std::size_t mask = places_.size() - 1;
  const bool is_short = name.size() <= kShort;
  const std::uint64_t packed = is_short ? PackShort(name) : 0;
  for (std::size_t i = HashText(name) & mask;; i = (i + 1) & mask) {
    const Place& place = places_[i];
    if (place.slot == kNoSlot) return kNoSlot;
    if (place.packed != packed || place.name.size() != name.size()) continue;
    if (is_short || place.name == name) return place.slot;
  }
}

void Slots::Put(Place place) {
  const std::size_t mask = places_.size() - 1;
  std::size_t i = HashText(place.name) & mask;
  while (places_[i].slot != kNoSlot) i = (i + 1) & mask;
  places_[i] = std::move(place);
}

Slot Slots::Intern(std::string_view name) {
  if (const Slot known = Find(name); known != kNoSlot) return known;
  if ((count_ + 1) * 4 > places_.size()) {
    std::vector<Place> old(places_.size() * 2);
    old.swap(places_);
    for (Place& place : old) {
      if (place.slot != kNoSlot) Put(std::move(place));
    }
  }
  const auto slot = static_cast<Slot>(count_++);
  Put({.name = std::string(name),
       .packed = name.size() <= kShort ? PackShort(name) : 0,
       .slot = slot});
  return slot;
}

std::string_view PathOf(std::string_view endpoint) {
  std::size_t end = 0;
  while (end < endpoint.size() && endpoint[end] != '?' && endpoint[end] != '#') ++end;
  return endpoint.substr(0, end);
}

}  // namespace sluice::rules
