#include "lease/redis/announcer.h"

#include <algorithm>
#include <chrono>

#include "redis/slot.h"
#include "resp/encoder.h"

namespace sluice::lease {
namespace {

constexpr Micros kPublishTimeout = std::chrono::milliseconds(500);

}  // namespace

Announcer::Announcer(net::Loop& loop, redis::Service& service, std::uint64_t node)
    : loop_(loop), service_(service), news_(node), next_(loop, [this] { Publish(); }) {}

void Announcer::Add(AnnouncementKind kind, const Key& key, Micros within) {
  if (!news_.Add(kind, key) || loop_.Now() + within >= due_) return;
  due_ = loop_.Now() + within;
  next_.Set(due_);
}

void Announcer::Publish() {
  command_.clear();
  resp::AppendCommand(command_, {"PUBLISH", kChannel, news_.bytes()});
  news_.Clear();
  due_ = SteadyTime::max();
  // In a cluster every server forwards it to all others.
  route_ = {.slot = service_.has_slots() ? redis::SlotOf(kChannel) : std::uint16_t{0}};
  service_.Send(route_, command_, loop_.Now() + kPublishTimeout, [](const redis::Answer&) {});
}

}  // namespace sluice::lease
