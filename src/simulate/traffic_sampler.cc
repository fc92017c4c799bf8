#include "simulate/traffic_sampler.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>

#include "base/text_hash.h"

namespace sluice::simulate {
namespace {

constexpr std::uint32_t kMaxLevel = 40;
// Parts of the span after which the share may be doubled.
constexpr int kSlices = 16;
// The share is doubled if a span of such slices would fill less than this part of the ring. More
// than two, so that the share does not swing.
constexpr std::size_t kQuietPart = 4;
// A clock that was set back by more begins a new sample.
constexpr Micros kMaxClockStep = std::chrono::seconds(1);
constexpr int kMaxExpiredPerCall = 2;

bool IsInShareOf(std::uint32_t level, std::uint64_t caller) {
  return (caller & ((std::uint64_t{1} << level) - 1)) == 0;
}

}  // namespace

LoopTrafficSampler::LoopTrafficSampler(const KeyHasher& hasher, std::size_t max_calls,
                                       std::size_t words, Micros max_span)
    : hasher_(hasher), max_span_(max_span), ring_(max_calls, words) {}

std::uint64_t LoopTrafficSampler::CallerOf(match::Attributes attributes) const {
  const Attribute* address = nullptr;
  for (const Attribute& attribute : attributes) {
    if (attribute.value.empty()) continue;
    if (attribute.name == "api_key") {
      return hasher_({.scope = attribute.name, .tag = attribute.value}).high;
    }
    if (address == nullptr && attribute.name == "ip") address = &attribute;
  }
  if (address != nullptr) return hasher_({.scope = address->name, .tag = address->value}).high;
  std::uint64_t hash = 0;
  for (const Attribute& attribute : attributes) {
    hash = MixHash(hash + 0x9E3779B97F4A7C15,
                   hasher_({.scope = attribute.name, .tag = attribute.value}).high);
  }
  return hash;
}

bool LoopTrafficSampler::IsInShare(std::uint64_t caller) const {
  return IsInShareOf(level_, caller);
}

void LoopTrafficSampler::Record(match::Attributes attributes, std::int64_t cost, WallTime now) {
  if (attributes.empty() || cost < 1) return;
  if (now < last_) {
    if (last_ - now <= kMaxClockStep) {
      now = last_;
    } else {
      ring_.Clear(now);
      slice_end_ = now;
    }
  }
  last_ = now;
  if (now >= slice_end_) EndSlice(now);
  const std::uint64_t caller = CallerOf(attributes);
  if (!IsInShare(caller)) return;
  ItemBuffer buffer;
  auto item = EncodeCall(attributes, cost, caller, level_, now, buffer);
  if (MakeRoom(item.size(), now) == Share::kHalved) {
    if (!IsInShare(caller)) return;
    item = EncodeCall(attributes, cost, caller, level_, now, buffer);
  }
  ring_.Append(item);
  ++slice_calls_;
  slice_words_ += item.size();
}

// Halves the share if calls of the span must be dropped that were recorded with it: once all of the
// ring was.
LoopTrafficSampler::Share LoopTrafficSampler::MakeRoom(std::size_t words, WallTime now) {
  const WallTime span_begin = now - max_span_;
  for (int i = 0; i < kMaxExpiredPerCall && !ring_.empty(); ++i) {
    if (ring_.oldest().time >= span_begin) break;
    ring_.DropOldest();
  }
  bool halve = false;
  // Enough for a change of level, too.
  while (!ring_.HasRoom(words + kItemHeadWords)) {
    const ItemHead oldest = ring_.oldest();
    halve =
        halve || (oldest.is_call() && oldest.level_after == level_ && oldest.time >= span_begin);
    ring_.DropOldest();
  }
  if (!halve || level_ == kMaxLevel) return Share::kKept;
  SetLevel(level_ + 1, now);
  return Share::kHalved;
}

void LoopTrafficSampler::EndSlice(WallTime now) {
  const Micros slice = max_span_ / kSlices;
  const bool first = slice_end_ == WallTime{};
  const bool quiet = slice_calls_ * kSlices * kQuietPart < ring_.max_items() &&
                     slice_words_ * kSlices * kQuietPart < ring_.capacity();
  const auto idle_slices = static_cast<std::uint64_t>((now - slice_end_) / slice);
  const std::uint64_t doublings = first ? 0 : idle_slices + (quiet ? 1 : 0);
  slice_end_ = now + slice;
  slice_calls_ = 0;
  slice_words_ = 0;
  if (doublings == 0 || level_ == 0) return;
  SetLevel(level_ - static_cast<std::uint32_t>(std::min<std::uint64_t>(doublings, level_)), now);
}

void LoopTrafficSampler::SetLevel(std::uint32_t level, WallTime now) {
  ItemBuffer buffer;
  const auto item = EncodeLevelChange(level_, level, now, buffer);
  while (!ring_.HasRoom(item.size())) ring_.DropOldest();
  ring_.SetLevel(level);
  ring_.Append(item);
  level_ = level;
}

TrafficSampler::TrafficSampler(const TrafficSamplerOptions& options, std::size_t loops,
                               WallTime now)
    : options_(options), started_(now) {
  const std::size_t count = std::max<std::size_t>(loops, 1);
  for (std::size_t i = 0; i < count; ++i) {
    loops_.push_back(std::make_unique<LoopTrafficSampler>(
        hasher_, options.max_calls / count, options.max_bytes / sizeof(std::uint64_t) / count,
        options.max_span));
  }
}

LoopTrafficSampler* TrafficSampler::AddLoop() {
  // Relaxed: only the number must be unique.
  const std::size_t index = added_.fetch_add(1, std::memory_order_relaxed);
  return index < loops_.size() ? loops_[index].get() : nullptr;
}

TrafficSample TrafficSampler::Take(WallTime now) const {
  TrafficSample sample;
  sample.end_ = now;
  // Of each level: nothing is complete until then, because a loop sampled fewer callers.
  std::array<WallTime, kMaxLevel + 1> complete_after;
  complete_after.fill(std::max(started_, now - options_.max_span) - Micros(1));
  const auto raise = [&](std::uint32_t levels, WallTime time) {
    for (std::uint32_t i = 0; i < levels; ++i)
      complete_after[i] = std::max(complete_after[i], time);
  };
  std::uint32_t level_in_use = 0;
  for (const auto& loop : loops_) {
    TrafficRing::Copy copy = loop->CopyItems();
    level_in_use = std::max(level_in_use, copy.level);
    raise(kMaxLevel + 1, copy.complete_after);
    raise(copy.level, now);
    sample.rings_.push_back(std::move(copy.words));
    const auto& words = sample.rings_.back();
    const auto ring = static_cast<std::uint32_t>(sample.rings_.size() - 1);
    for (std::size_t i = 0; i < words.size();) {
      const ItemHead head = DecodeHead(words[i], words[i + 1]);
      raise(head.level_before, head.time);
      if (head.is_call() && head.time <= now) {
        sample.calls_.push_back({head.time, ring, static_cast<std::uint32_t>(i)});
      }
      i += head.words;
    }
  }
  std::array<std::size_t, kMaxLevel + 1> counts{};
  const auto caller_of = [&](const TrafficSample::CallPosition& call) {
    return CallerOf(sample.rings_[call.ring].data() + call.word);
  };
  for (const TrafficSample::CallPosition& call : sample.calls_) {
    const auto most = std::min<std::uint32_t>(
        static_cast<std::uint32_t>(std::countr_zero(caller_of(call))), kMaxLevel);
    for (std::uint32_t level = 0; level <= most; ++level) {
      if (call.time > complete_after[level]) ++counts[level];
    }
  }
  // The first of those with the most calls. An empty sample reports the share in use: no call of
  // these callers was made, which says nothing about the others.
  const auto best = std::max_element(counts.begin(), counts.end());
  sample.level_ = *best == 0 ? level_in_use : static_cast<std::uint32_t>(best - counts.begin());
  const WallTime after = complete_after[sample.level_];
  sample.begin_ = std::min(after + Micros(1), now);
  std::erase_if(sample.calls_, [&](const TrafficSample::CallPosition& call) {
    return call.time <= after || !IsInShareOf(sample.level_, caller_of(call));
  });
  std::stable_sort(sample.calls_.begin(), sample.calls_.end(),
                   [](const auto& a, const auto& b) { return a.time < b.time; });
  return sample;
}

}  // namespace sluice::simulate
