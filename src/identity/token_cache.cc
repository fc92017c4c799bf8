#include "identity/token_cache.h"

#include <algorithm>
#include <bit>
#include <mutex>

namespace sluice::identity {

TokenCache::TokenCache(std::size_t sets)
    : mask_(std::bit_ceil(std::max<std::size_t>(sets, 1)) - 1),
      sets_(std::make_unique<Set[]>(mask_ + 1)) {}

bool TokenCache::Find(std::string_view token, JwtContent& content) {
  const KeyHash hash = hasher_({.tag = token});
  Set& set = SetOf(hash);
  const std::lock_guard lock(set.lock);
  for (auto entry = set.entries.begin(); entry != set.entries.end(); ++entry) {
    if (!entry->used || entry->hash != hash) continue;
    content.not_before = entry->content.not_before;
    content.expires = entry->content.expires;
    content.packed.assign(entry->content.packed);
    std::rotate(set.entries.begin(), entry, entry + 1);
    return true;
  }
  return false;
}

void TokenCache::Put(std::string_view token, const JwtContent& content) {
  const KeyHash hash = hasher_({.tag = token});
  Entry entry{.hash = hash, .used = true, .content = content};
  Set& set = SetOf(hash);
  const std::lock_guard lock(set.lock);
  // Two threads may have checked the same token.
  auto oldest = std::find_if(set.entries.begin(), set.entries.end() - 1,
                             [&](const Entry& each) { return !each.used || each.hash == hash; });
  std::swap(*oldest, entry);
  std::rotate(set.entries.begin(), oldest, oldest + 1);
}

}  // namespace sluice::identity
