#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <sluice/time.h>

#include "base/key_hash.h"
#include "base/spin_lock.h"
#include "identity/jwt_verifier.h"

namespace sluice::identity {

/// Caches the content of valid tokens, so that each signature is verified only once. Bounded and
/// set-associative: the least recently used token of a set is evicted. Tokens are identified by a
/// keyed hash and not stored.
///
/// Thread-safe: each set has a lock that is held while a few hundred bytes are copied.
class TokenCache {
 public:
  explicit TokenCache(std::size_t sets = 1024);

  /// Copies the content of a cached token; returns false if it is not cached.
  bool Find(std::string_view token, JwtContent& content);
  void Put(std::string_view token, const JwtContent& content);

 private:
  static constexpr std::size_t kWays = 4;

  struct Entry {
    KeyHash hash{};
    bool used = false;
    JwtContent content;
  };
  struct Set {
    SpinLock lock;
    std::array<Entry, kWays> entries;  ///< Most recently used first.
  };

  Set& SetOf(const KeyHash& hash) { return sets_[hash.low & mask_]; }

  KeyHasher hasher_;
  std::size_t mask_;
  std::unique_ptr<Set[]> sets_;
};

}  // namespace sluice::identity
