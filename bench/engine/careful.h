#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include <absl/container/flat_hash_map.h>

namespace sluice::bench {

/// What a careful programmer would write instead: a token bucket per key in the best hash map at
/// hand, behind a mutex. It never cleans up, and has no answer for a flood of keys.
class Careful {
 public:
  Careful(double capacity, double per_micro) : capacity_(capacity), per_micro_(per_micro) {}

  bool Check(std::string_view key, std::int64_t now_micros) {
    const std::lock_guard lock(mutex_);
    return CheckLocked(key, now_micros);
  }

  /// One lock for the whole batch.
  template <typename Keys>
  std::size_t CheckBatch(const Keys& keys, std::int64_t now_micros) {
    const std::lock_guard lock(mutex_);
    std::size_t allowed = 0;
    for (const std::string_view key : keys) allowed += CheckLocked(key, now_micros) ? 1 : 0;
    return allowed;
  }

 private:
  struct Bucket {
    double tokens;
    std::int64_t at;
  };

  // The map is found by string_view, without making a string of it.
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view key) const {
      return absl::Hash<absl::string_view>()(absl::string_view(key.data(), key.size()));
    }
  };

  bool CheckLocked(std::string_view key, std::int64_t now_micros) {
    auto found = buckets_.find(key);
    if (found == buckets_.end()) {
      found = buckets_.emplace(std::string(key), Bucket{capacity_, now_micros}).first;
    }
    Bucket& bucket = found->second;
    const auto idle = static_cast<double>(now_micros - bucket.at);
    bucket.tokens = std::min(capacity_, bucket.tokens + idle * per_micro_);
    bucket.at = now_micros;
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  }

  const double capacity_;
  const double per_micro_;
  std::mutex mutex_;
  absl::flat_hash_map<std::string, Bucket, Hash, std::equal_to<>> buckets_;
};

}  // namespace sluice::bench
