#include "store/store_queue.h"

namespace sluice::store {

void StoreQueue::TakeSample() {
  // At most this many calls don't count as a queue. Below the minimum limit, so that a flood always
  // does.
  constexpr std::int64_t kFew = kLeastLimit / 2;
  phase_ = Phase::kNone;
  // Calls answered within one turn can't be measured.
  constexpr Micros kShortest = std::chrono::microseconds(50);
  const Micros took = std::max(sample_ended_at_ - sample_began_at_, kShortest);
  const auto answered =
      static_cast<std::int64_t>(std::min<std::uint64_t>(answered_ - answered_before_, kMostLimit));
  if (sample_ok_ && answered <= kFew) alone_ = took < alone_ ? took : alone_ + (took - alone_) / 4;
  const Micros waited = took - std::min(took, alone_);
  const auto in_time =
      static_cast<std::size_t>(answered * (target_ + alone_).count() / took.count());
  const bool was_late = waited >= target_ / 2;
  if (sample_ok_) {
    // Limits the influence of a single slow or fast reply.
    limit_ = std::clamp(in_time, was_late ? limit_ / 2 : limit_, limit_ + limit_ / 4);
  } else if (was_late) {
    limit_ /= 2;
  }
  limit_ = std::clamp(limit_, kLeastLimit, kMostLimit);
}

}  // namespace sluice::store
