#include "identity/token_cache.h"

#include <algorithm>
#include <bit>
#include <mutex>

namespace sluice::identity {

TokenCache::TokenCache(std::size_t places)
    : mask_(std::bit_ceil(std::max<std::size_t>(places, 1)) - 1),
      places_(std::make_unique<Place[]>(mask_ + 1)) {}

bool TokenCache::Find(std::string_view token, JwtContent& content) {
  const KeyHash hash = hasher_({.tag = token});
  Place& place = PlaceOf(hash);
  const std::lock_guard lock(place.lock);
  for (auto entry = place.entries.begin(); entry != place.entries.end(); ++entry) {
    if (!entry->used || entry->hash != hash) continue;
    content.not_before = entry->content.not_before;
    content.expires = entry->content.expires;
    content.packed.assign(entry->content.packed);
    std::rotate(place.entries.begin(), entry, entry + 1);
    return true;
  }
  return false;
}

void TokenCache::Put(std::string_view token, const JwtContent& content) {
  const KeyHash hash = hasher_({.tag = token});
  Entry entry{.hash = hash, .used = true, .content = content};
  Place& place = PlaceOf(hash);
  const std::lock_guard lock(place.lock);
  // Two threads may have checked the same token.
  auto oldest = std::find_if(place.entries.begin(), place.entries.end() - 1,
                             [&](const Entry& each) { return !each.used || each.hash == hash; });
  std::swap(*oldest, entry);
  std::rotate(place.entries.begin(), oldest, oldest + 1);
}

}  // namespace sluice::identity
