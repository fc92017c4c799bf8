#include "transport/memory_budget.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace sluice::transport {
namespace {

constexpr Micros kBetweenCalls = std::chrono::milliseconds(10);

std::size_t ClassOf(std::size_t bytes) {
  return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(bytes)), 63);
}

}  // namespace

void MemoryBudget::Change(std::size_t before, std::size_t now) {
  const std::int64_t more = static_cast<std::int64_t>(now) - static_cast<std::int64_t>(before);
  const std::int64_t used = used_.fetch_add(more, std::memory_order_relaxed) + more;
  std::int64_t peak = peak_.load(std::memory_order_relaxed);
  while (used > peak && !peak_.compare_exchange_weak(peak, used, std::memory_order_relaxed)) {
  }
  const std::size_t from = ClassOf(before);
  const std::size_t to = ClassOf(now);
  if (from == to) return;
  if (before > 0) holders_[from].fetch_sub(1, std::memory_order_relaxed);
  if (now > 0) holders_[to].fetch_add(1, std::memory_order_relaxed);
}

std::size_t MemoryBudget::LargestHolders() const {
  std::size_t width = kClasses - 1;
  while (width > 0 && holders_[width].load(std::memory_order_relaxed) <= 0) --width;
  return width == 0 ? 0 : std::size_t{1} << (width - 1);
}

std::size_t MemoryBudget::TakePeak() {
  const std::int64_t now = used_.load(std::memory_order_relaxed);
  const std::int64_t peak = peak_.exchange(now, std::memory_order_relaxed);
  return static_cast<std::size_t>(std::max<std::int64_t>({peak, now, 0}));
}

std::shared_ptr<void> MemoryBudget::Enlist(Relief relief) {
  auto enlisted = std::make_shared<Relief>(std::move(relief));
  const std::lock_guard lock(mutex_);
  reliefs_.push_back(enlisted);
  return enlisted;
}

void MemoryBudget::CallForRelief(SteadyTime now) {
  const std::int64_t time = now.time_since_epoch().count();
  std::int64_t last = last_call_.load(std::memory_order_relaxed);
  if (time - last < kBetweenCalls.count()) return;
  if (!last_call_.compare_exchange_strong(last, time, std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  std::erase_if(reliefs_, [](const auto& relief) { return relief.expired(); });
  for (const auto& enlisted : reliefs_) {
    if (const auto relief = enlisted.lock()) (*relief)();
  }
}

}  // namespace sluice::transport
