#include "match/match_input.h"

#include "base/text_hash.h"

namespace sluice::match {
namespace {

constexpr std::size_t kShort = 8;

}  // namespace

Slots::Slots() : places_(15) {
  // In the order of the fixed slots.
  for (const char* name : {"api_key", "ip", "endpoint", "tier", "api_key_hash", "ip_network"}) {
    Intern(name);
  }
}

Slot Slots::Find(std::string_view name) const {
  const bool is_short = name.size() <= kShort;
  const std::uint64_t packed = is_short ? PackShort(name) : 0;
  const Place* const place = places_.Find(HashText(name), [&](const Place& each) {
    return each.packed == packed && each.name.size() == name.size() &&
           (is_short || each.name == name);
  });
  return place == nullptr ? kNoSlot : place->slot;
}

Slot Slots::Intern(std::string_view name) {
  if (const Slot known = Find(name); known != kNoSlot) return known;
  const auto slot = static_cast<Slot>(count_++);
  places_.GrowFor(2 * count_, [](const Place& each) { return HashText(each.name); });
  places_.Empty(HashText(name)) = {.name = std::string(name),
                                   .packed = name.size() <= kShort ? PackShort(name) : 0,
                                   .slot = slot};
  return slot;
}

std::string_view PathOf(std::string_view endpoint) {
  std::size_t end = 0;
  while (end < endpoint.size() && endpoint[end] != '?' && endpoint[end] != '#') ++end;
  return endpoint.substr(0, end);
}

}  // namespace sluice::match
