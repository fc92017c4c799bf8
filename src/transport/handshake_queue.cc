#include "transport/handshake_queue.h"

#include <iterator>
#include <utility>

namespace sluice::transport {

void HandshakeQueue::Add(Entry& entry, SteadyTime now) {
  if (entry.is_queued) return;
  entry.queued_at = now;
  auto found = origins_.find(entry.origin);
  if (found == origins_.end()) {
    ready_.push_back({.number = entry.origin});
    found = origins_.emplace(entry.origin, std::prev(ready_.end())).first;
  }
  Origin& origin = *found->second;
  std::list<Entry*>& list = origin.ListOf(entry);
  entry.position = list.insert(list.end(), &entry);
  entry.is_queued = true;
  if (origin.is_parked && entry.has_budget) {
    origin.is_parked = false;
    ready_.splice(ready_.end(), parked_, found->second);
  }
}

void HandshakeQueue::Remove(Entry& entry) {
  if (!entry.is_queued) return;
  entry.is_queued = false;
  const auto found = origins_.find(entry.origin);
  Origin& origin = *found->second;
  origin.ListOf(entry).erase(entry.position);
  if (!origin.started.empty() || !origin.fresh.empty()) return;
  (origin.is_parked ? parked_ : ready_).erase(found->second);
  origins_.erase(found);
}

HandshakeQueue::Entry* HandshakeQueue::Next(SteadyTime now) {
  while (!ready_.empty()) {
    const auto first = ready_.begin();
    Entry& entry = *(first->started.empty() ? first->fresh : first->started).front();
    const bool charge = !entry.has_budget;
    if (charge && !budget_.Take(entry.origin, now)) {
      if (!std::exchange(entry.was_delayed, true)) delayed_.Add();
      first->is_parked = true;
      parked_.splice(parked_.end(), ready_, first);
      continue;
    }
    ready_.splice(ready_.end(), ready_, first);  // The others are next.
    Remove(entry);
    if (charge) entry.has_budget = entry.was_charged = true;
    return &entry;
  }
  return nullptr;
}

void HandshakeQueue::Succeeded(Entry& entry) {
  if (entry.was_charged) budget_.GiveBack(entry.origin);
  entry.was_charged = false;
}

void HandshakeQueue::Retry() {
  for (Origin& origin : parked_) origin.is_parked = false;
  ready_.splice(ready_.end(), parked_);
}

}  // namespace sluice::transport
