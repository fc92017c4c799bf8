#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/key.h"
#include "lease/redis/announcement.h"
#include "net/loop.h"
#include "net/timer.h"
#include "redis/service.h"

namespace sluice::lease {

/// The Pub/Sub channel of announcements. Not the name of any limit's key: those continue with a
/// brace.
inline constexpr std::string_view kChannel = "sluice:v1:leases";

/// Announces keys to the other nodes at this Redis by PUBLISH: recalls within a millisecond,
/// changes within twenty, collected in one message. Entries beyond the size of a message, and
/// failed publications, are dropped: correctness does not depend on them.
///
/// Lives on its loop's thread. `service` must outlive it, and be closed before its destruction.
class Announcer {
 public:
  Announcer(net::Loop& loop, redis::Service& service, std::uint64_t node);

  void Recall(const Key& key) { Add(AnnouncementKind::kRecall, key, std::chrono::milliseconds(1)); }
  void Changed(const Key& key) {
    Add(AnnouncementKind::kChanged, key, std::chrono::milliseconds(20));
  }

 private:
  void Add(AnnouncementKind kind, const Key& key, Micros within);
  void Publish();

  net::Loop& loop_;
  redis::Service& service_;
  Announcement news_;
  SteadyTime due_ = SteadyTime::max();
  net::Timer next_;
  redis::Route route_;
  std::string command_;
};

}  // namespace sluice::lease
