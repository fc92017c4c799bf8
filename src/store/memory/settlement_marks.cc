#include "store/memory/settlement_marks.h"

#include <iterator>

namespace sluice::store {

SettlementMark* SettlementMarks::Find(const KeyHash& key, const Settlement& settlement) {
  const auto marks = by_key_.find(key);
  if (marks == by_key_.end()) return nullptr;
  const auto found = marks->second.find({settlement.expires, settlement.receipt});
  return found == marks->second.end() ? nullptr : &found->second;
}

std::size_t SettlementMarks::Bytes() const {
  static_assert(sizeof(SettlementMarks) + kBytesPerMark + kBytesPerKey <= kBytesOfNew);
  return sizeof(SettlementMarks) + marks_ * kBytesPerMark + by_key_.size() * kBytesPerKey;
}

bool SettlementMarks::HasRoomFor(const KeyHash& key, std::size_t added, std::size_t most,
                                 WallTime now) const {
  const auto found = by_key_.find(key);
  const std::size_t held = found == by_key_.end() ? 0 : found->second.size();
  if (held + added <= most) return true;
  const std::size_t too_many = held + added - most;
  if (too_many > held) return false;
  const auto last = std::next(found->second.begin(), static_cast<std::ptrdiff_t>(too_many) - 1);
  return last->first.expires <= now;
}

void SettlementMarks::Prune(Marks& marks, WallTime now, std::size_t most) {
  for (; most > 0 && !marks.empty() && marks.begin()->first.expires <= now; --most) {
    marks.erase(marks.begin());
    --marks_;
  }
}

void SettlementMarks::Insert(const KeyHash& key, const Settlement& settlement,
                             const SettlementMark& mark, WallTime now) {
  Marks& marks = by_key_[key];
  Prune(marks, now, 2);
  marks.emplace(Id{settlement.expires, settlement.receipt}, mark);
  ++marks_;
}

void SettlementMarks::Sweep(WallTime now) {
  constexpr std::size_t kMostOfKey = 16;
  for (int keys = 4; keys > 0 && !by_key_.empty(); --keys) {
    auto next = by_key_.upper_bound(swept_);
    if (next == by_key_.end()) next = by_key_.begin();
    swept_ = next->first;
    Prune(next->second, now, kMostOfKey);
    if (next->second.empty()) by_key_.erase(next);
  }
}

}  // namespace sluice::store
