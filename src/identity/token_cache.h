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

/// Remembers what valid tokens say, so that a signature is checked once for each and not at each
/// call. Bounded: of the few that share a place, the one that was asked for least recently makes
/// room. Tokens are known by a hash under a secret, and are not kept themselves.
///
/// Thread-safe: each place has a lock that is held while a few hundred bytes are copied.
class TokenCache {
 public:
  explicit TokenCache(std::size_t places = 1024);

  /// Copies what is known of the token; false if nothing is.
  bool Find(std::string_view token, JwtContent& content);
  void Put(std::string_view token, const JwtContent& content);

 private:
  static constexpr std::size_t kWays = 4;

  struct Entry {
    KeyHash hash{};
    bool used = false;
    JwtContent content;
  };
  struct Place {
    SpinLock lock;
    std::array<Entry, kWays> entries;  ///< The last one asked for comes first.
  };

  Place& PlaceOf(const KeyHash& hash) { return places_[hash.low & mask_]; }

  KeyHasher hasher_;
  std::size_t mask_;
  std::unique_ptr<Place[]> places_;
};

}  // namespace sluice::identity
