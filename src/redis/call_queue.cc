#include "redis/call_queue.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace sluice::redis {
namespace {

constexpr std::size_t kFirstSize = 64;
// Up to this many stale deadlines are cheaper to keep than to remove.
constexpr std::size_t kFew = 1024;
// Releases the memory of an unusually long queue.
constexpr std::size_t kKeptBytes = 1U << 20;

}  // namespace

CallQueue::CallQueue() : calls_(kFirstSize) {}

void CallQueue::Push(std::string_view command, const CallDeadline& deadline, Handler handler,
                     SteadyTime now) {
  assert(!command.empty() && handler);
  if (end_ - first_ == calls_.size()) Grow();
  Entry& call = At(end_);
  call.handler = std::move(handler);
  call.deadline = deadline.when;
  call.pushed = now;
  call.bytes = command.size();
  call.callers_deadline = deadline.is_callers;
  commands_ += command;
  if (deadline.when != SteadyTime::max()) {
    if (deadlines_.size() > kFew + 2 * size()) CollectDeadlines();
    deadlines_.push_back({deadline.when, end_});
    std::push_heap(deadlines_.begin(), deadlines_.end());
  }
  ++end_;
}

void CallQueue::Grow() {
  std::vector<Entry> larger(2 * calls_.size());
  for (std::uint64_t number = first_; number != end_; ++number) {
    larger[number & (larger.size() - 1)] = std::move(At(number));
  }
  calls_ = std::move(larger);
}

void CallQueue::TakeCommands(std::string& out) {
  if (gaps_ > 0) CloseGaps();
  if (out.empty()) {
    out.swap(commands_);
  } else {
    out += commands_;
  }
  commands_.clear();
  if (commands_.capacity() > kKeptBytes) commands_ = {};
  unsent_ = end_;
}

// Removes timed-out calls from the unsent ones and renumbers the others.
void CallQueue::CloseGaps() {
  std::size_t from = 0;
  std::size_t to = 0;
  std::uint64_t place = unsent_;
  for (std::uint64_t number = unsent_; number != end_; ++number) {
    Entry& call = At(number);
    const std::size_t bytes = call.bytes;
    if (call.handler) {
      std::copy_n(commands_.begin() + static_cast<std::ptrdiff_t>(from), bytes,
                  commands_.begin() + static_cast<std::ptrdiff_t>(to));
      to += bytes;
      if (place != number) At(place) = std::exchange(call, {});
      ++place;
    }
    from += bytes;
  }
  commands_.resize(to);
  end_ = place;
  gaps_ = gap_bytes_ = 0;
  CollectDeadlines();
}

void CallQueue::CollectDeadlines() {
  deadlines_.clear();
  for (std::uint64_t number = first_; number != end_; ++number) {
    const Entry& call = At(number);
    if (call.handler && call.deadline != SteadyTime::max()) {
      deadlines_.push_back({call.deadline, number});
    }
  }
  std::make_heap(deadlines_.begin(), deadlines_.end());
}

Handler CallQueue::PopReplied() {
  assert(in_flight() > 0);
  return std::exchange(At(first_++).handler, nullptr);
}

bool CallQueue::IsWaiting(const Deadline& deadline) {
  if (deadline.number < first_ || deadline.number >= end_) return false;
  // After PopUnsent a number may belong to another call, which has its own deadline entry.
  const Entry& call = At(deadline.number);
  return call.handler && call.deadline == deadline.when;
}

void CallQueue::PopExpired(SteadyTime now, std::vector<Ended>& out) {
  while (!deadlines_.empty() && deadlines_.front().when <= now) {
    const Deadline due = deadlines_.front();
    std::pop_heap(deadlines_.begin(), deadlines_.end());
    deadlines_.pop_back();
    if (!IsWaiting(due)) continue;
    Entry& call = At(due.number);
    const bool sent = due.number < unsent_;
    out.push_back({std::exchange(call.handler, nullptr),
                   sent ? Execution::kUnknown : Execution::kNotSent, call.pushed, call.deadline,
                   call.callers_deadline});
    if (!sent) {
      ++gaps_;
      gap_bytes_ += call.bytes;
    }
  }
  if (gaps_ > kFew && gaps_ > unsent()) CloseGaps();
}

void CallQueue::PopInFlight(std::vector<Ended>& out) {
  while (first_ != unsent_) {
    Handler handler = PopReplied();
    if (handler) out.push_back({std::move(handler), Execution::kUnknown});
  }
}

void CallQueue::PopUnsent(std::vector<Ended>& out) {
  for (std::uint64_t number = unsent_; number != end_; ++number) {
    Handler handler = std::exchange(At(number).handler, nullptr);
    if (handler) out.push_back({std::move(handler), Execution::kNotSent});
  }
  end_ = unsent_;
  commands_.clear();
  gaps_ = gap_bytes_ = 0;
}

bool CallQueue::AnyAwaited() {
  for (std::uint64_t number = first_; number != unsent_; ++number) {
    if (At(number).handler) return true;
  }
  return false;
}

SteadyTime CallQueue::NextDeadline() {
  while (!deadlines_.empty() && !IsWaiting(deadlines_.front())) {
    std::pop_heap(deadlines_.begin(), deadlines_.end());
    deadlines_.pop_back();
  }
  return deadlines_.empty() ? SteadyTime::max() : deadlines_.front().when;
}

}  // namespace sluice::redis
