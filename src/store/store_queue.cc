#include "store/store_queue.h"

namespace sluice::store {

void StoreQueue::TakeSample() {
  // So few are no queue. Less than the least limit: a flood is never taken for that.
  constexpr std::int64_t kFew = kLeastLimit / 2;
  phase_ = Phase::kNone;
  // What is answered within a turn can't be measured.
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
    // One late reply is no proof of the worst, and one that was fast none of the best.
    limit_ = std::clamp(in_time, was_late ? limit_ / 2 : limit_, limit_ + limit_ / 4);
  } else if (was_late) {
    limit_ /= 2;
  }
  limit_ = std::clamp(limit_, kLeastLimit, kMostLimit);
}

}  // namespace sluice::store
