#include "server/store_speed.h"

#include <cstddef>
#include <cstdint>

namespace sluice::server {

void StoreSpeed::Update(const Histogram& times) {
  std::uint64_t all = 0;
  std::uint64_t slow = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    const std::uint64_t more = times.bucket(i) - before_.bucket(i);
    all += more;
    if (i >= kBucketEnds.size() || kBucketEnds[i] > kSlow) slow += more;
  }
  before_ = times;
  // A single one may be an accident.
  is_slow_.store(slow > 1 && slow * 100 > all, std::memory_order_relaxed);
}

}  // namespace sluice::server
