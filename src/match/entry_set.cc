#include "match/entry_set.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "base/host_name.h"
#include "base/random.h"
#include "base/text_hash.h"
#include "match/value_hash.h"

namespace sluice::match {
namespace {

using rules::PatternKind;

// Changes since the last base, before another base is made.
constexpr std::size_t kLargestDelta = 512;

// Equal for equal sets only; empty: the matcher has no exact condition.
std::string ExactAttributesOf(const Entry& entry) {
  std::string attributes;
  for (const EntryCondition& condition : entry.match) {
    if (condition.kind == PatternKind::kExact) attributes.append(condition.attribute) += '\0';
  }
  return attributes;
}

std::uint64_t HashOfMatcher(const Entry& entry, std::uint64_t seed) {
  std::uint64_t hash = seed;
  for (const EntryCondition& condition : entry.match) {
    hash = HashText(condition.attribute, hash) + static_cast<std::uint64_t>(condition.kind);
    hash = HashText(condition.value, hash);
  }
  return hash;
}

// Adds to a count; counts of zero are absent.
template <typename Counts, typename What>
void AddTo(Counts& counts, What what, std::ptrdiff_t sign) {
  const auto [count, is_new] = counts.try_emplace(std::move(what), 0);
  count->second += sign;
  if (count->second == 0) counts.erase(count);
}

template <typename Counts, typename What>
std::ptrdiff_t CountIn(const Counts& counts, const What& what) {
  const auto found = counts.find(what);
  return found == counts.end() ? 0 : found->second;
}

}  // namespace

void EntrySet::ReadCall(Attributes attributes, EntryMatches& matches) const {
  for (const Slot slot : matches.present_) matches.values_[slot] = {};
  matches.present_.clear();
  if (matches.values_.size() < slots_->size()) {
    matches.values_.resize(slots_->size());
    matches.hashes_.resize(slots_->size());
  }
  matches.address_.reset();
  for (const Attribute& attribute : attributes) {
    const Slot slot = slots_->Find(attribute.name);
    // The first of a name counts, even if it is empty, which is as good as absent.
    if (slot == kNoSlot || !uses_[slot] || matches.values_[slot].data() != nullptr) continue;
    matches.present_.push_back(slot);
    matches.values_[slot] = "";
    std::string_view value = attribute.value;
    if (value.empty()) continue;
    if (slot == kIpSlot) {
      matches.address_ = ParseAddress(value);
      if (matches.address_ && value.substr(0, 4).find('.') == std::string_view::npos) {
        value = FormatAddress(*matches.address_, matches.address_text_);
      }
    } else if (slot == kEndpointSlot) {
      value = PathOf(value);
    } else if (slot == host_) {
      value = NormalizeHost(value, matches.host_text_);
    } else if (slot == method_) {
      matches.method_text_.assign(value);
      for (char& c : matches.method_text_) c = AsciiUpper(c);
      value = matches.method_text_;
    }
    if (value.empty()) continue;
    matches.values_[slot] = value;
    matches.hashes_[slot] = HashText(value, seed_);
  }
}

void EntrySet::Find(Attributes attributes, WallTime now, EntryMatches& matches) const {
  matches.found_.clear();
  if (empty()) return;
  ReadCall(attributes, matches);
  std::vector<const LiveEntry*>& found = matches.found_;
  base_->Find(matches);
  if (!found.empty() && !gone_.empty()) {
    std::erase_if(found, [&](const LiveEntry* entry) { return gone_.contains(entry); });
  }
  if (!delta_->empty()) delta_->Find(matches);
  if (found.empty()) return;
  std::erase_if(found, [&](const LiveEntry* entry) { return entry->entry.expires_at <= now; });
  std::sort(found.begin(), found.end(),
            [](const LiveEntry* a, const LiveEntry* b) { return Precedes(a->entry, b->entry); });
  // A glob's text may occur in a value more than once.
  found.erase(std::unique(found.begin(), found.end()), found.end());
}

EntryTable::EntryTable() : seed_(RandomId()) {
  tally_.seed = seed_;
  base_ = std::make_shared<const EntryIndex>(EntryIndex::Entries{}, slots_, seed_);
}

void EntryTable::Tally::Count(const Entry& entry, EntryKind kind, std::ptrdiff_t sign) {
  const auto by = static_cast<std::size_t>(sign);
  counts.by_effect[entry.effect] += by;
  counts.by_kind[kind] += by;
  counts.total += by;
  if (auto attributes = ExactAttributesOf(entry); !attributes.empty()) {
    AddTo(by_attributes, std::move(attributes), sign);
  }
  AddTo(by_matcher, HashOfMatcher(entry, seed), sign);
}

void EntryTable::Drop(const Held& held) {
  tally_.Remove(*held.entry);
  if (held.in_base) {
    gone_.insert(held.entry.get());
  } else {
    delta_.erase(held.entry.get());
  }
}

void EntryTable::Put(Entry entry) {
  Held& held = entries_[entry.id];
  auto added = std::make_shared<LiveEntry>(std::move(entry));
  if (held.entry != nullptr) {
    added->last_used.store(held.entry->last_used.load(std::memory_order_relaxed),
                           std::memory_order_relaxed);
    Drop(held);
  }
  held = {.entry = added, .in_base = false};
  tally_.Add(*added);
  delta_.emplace(held.entry.get(), held.entry);
}

bool EntryTable::Remove(std::string_view id) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return false;
  Drop(found->second);
  entries_.erase(found);
  return true;
}

void EntryTable::Replace(EntryTable other) {
  for (const auto& [id, held] : other.entries_) {
    const auto before = Find(id);
    if (before == nullptr) continue;
    held.entry->last_used.store(before->last_used.load(std::memory_order_relaxed),
                                std::memory_order_relaxed);
  }
  *this = std::move(other);
}

std::shared_ptr<const LiveEntry> EntryTable::Find(std::string_view id) const {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : found->second.entry;
}

void EntryTable::Visit(
    std::string_view after,
    const std::function<bool(const std::shared_ptr<const LiveEntry>&)>& visit) const {
  for (auto at = entries_.upper_bound(after); at != entries_.end(); ++at) {
    if (!visit(at->second.entry)) return;
  }
}

std::string EntryTable::RefusalOf(const std::vector<Entry>& added,
                                  const std::vector<std::string>& removed,
                                  const EntryBounds& bounds) const {
  Tally change{.seed = seed_};
  const auto drop = [&](std::string_view id) {
    if (const auto live = Find(id)) change.Remove(*live);
  };
  for (const Entry& entry : added) {
    drop(entry.id);
    change.Count(entry, KindOf(entry), 1);
  }
  for (const std::string& id : removed) drop(id);

  std::size_t sets = tally_.by_attributes.size();
  for (const auto& [attributes, by] : change.by_attributes) {
    const std::ptrdiff_t before = CountIn(tally_.by_attributes, attributes);
    if (before == 0) ++sets;
    if (before + by == 0) --sets;
  }
  std::ptrdiff_t most_equal = 0;
  for (const auto& [matcher, by] : change.by_matcher) {
    if (by > 0) most_equal = std::max(most_equal, CountIn(tally_.by_matcher, matcher) + by);
  }
  EntryCounts after = tally_.counts;
  after.by_kind += change.counts.by_kind;
  after.total += change.counts.total;
  const auto refusal = [](std::size_t most, std::string_view what) {
    return "at most " + std::to_string(most) + " " + std::string(what);
  };
  if (after.total > bounds.entries) return refusal(bounds.entries, "entries");
  if (after.by_kind[EntryKind::kCidr] > bounds.networks) {
    return refusal(bounds.networks, "entries with networks");
  }
  if (after.by_kind[EntryKind::kGlob] > bounds.globs) {
    return refusal(bounds.globs, "entries with globs");
  }
  if (sets > bounds.attribute_sets) {
    return refusal(bounds.attribute_sets, "different sets of attributes in matchers");
  }
  if (std::cmp_greater(most_equal, bounds.equal_matchers)) {
    return refusal(bounds.equal_matchers, "entries with the same matcher");
  }
  return {};
}

std::shared_ptr<const EntrySet> EntryTable::Snapshot() {
  if (delta_.size() + gone_.size() > kLargestDelta) {
    EntryIndex::Entries all;
    all.reserve(entries_.size());
    for (auto& [id, held] : entries_) {
      held.in_base = true;
      all.push_back(held.entry);
    }
    base_ = std::make_shared<const EntryIndex>(std::move(all), slots_, seed_);
    delta_.clear();
    gone_.clear();
  }
  EntryIndex::Entries later;
  for (const auto& [pointer, entry] : delta_) later.push_back(entry);
  auto set = std::make_shared<EntrySet>();
  set->delta_ = std::make_shared<const EntryIndex>(std::move(later), slots_, seed_);
  set->base_ = base_;
  set->gone_ = gone_;
  set->slots_ = std::make_shared<const Slots>(slots_);
  set->seed_ = seed_;
  set->host_ = slots_.Find("host");
  set->method_ = slots_.Find("method");
  set->uses_.resize(slots_.size());
  for (Slot slot = 0; slot < slots_.size(); ++slot) {
    set->uses_[slot] = set->base_->Uses(slot) || set->delta_->Uses(slot);
  }
  set->size_ = entries_.size();
  return set;
}

}  // namespace sluice::match
