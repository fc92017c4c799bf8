#include "server/room_watch.h"

namespace sluice::server {

std::uint64_t RoomWatch::Update(std::uint64_t refused, SteadyTime now) {
  if (refused > seen_) {
    last_refusal_ = now;
    is_full_.store(true, std::memory_order_relaxed);
  } else if (now - last_refusal_ >= kQuiet) {
    is_full_.store(false, std::memory_order_relaxed);
  }
  seen_ = refused;
  const bool may_log = !has_logged_ || now - last_log_ >= kQuiet;
  if (refused == logged_ || !may_log) return 0;
  const std::uint64_t more = refused - logged_;
  logged_ = refused;
  last_log_ = now;
  has_logged_ = true;
  return more;
}

}  // namespace sluice::server
