#include "telemetry/top_windows.h"

#include <utility>

namespace sluice::telemetry {

void TopWindows::Advance(WallTime now) {
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    Level& level = levels_[i];
    const std::int64_t number = now.time_since_epoch() / level.length;
    if (number <= level.number) continue;  // So it is for the levels above, which are multiples.
    if (!level.current.empty()) {
      TopSlice slice = level.current.Take(kSliceRows);
      level.current.Clear();
      if (i + 1 < levels_.size()) levels_[i + 1].current.Add(slice);
      level.finished.push_back({level.number, std::move(slice)});
    }
    level.number = number;
    const auto oldest = number - static_cast<std::int64_t>(level.slices);
    while (!level.finished.empty() && level.finished.front().number < oldest) {
      level.finished.pop_front();
    }
  }
}

void TopWindows::Add(const TopSlice& slice, WallTime now) {
  Advance(now);
  levels_[0].current.Add(slice);
}

TopSlice TopWindows::Take(TopWindow window, std::size_t max_rows) const {
  const auto level = static_cast<std::size_t>(window);
  TopSum sum;
  for (const Level::Finished& finished : levels_[level].finished) sum.Add(finished.slice);
  for (std::size_t i = level + 1; i-- > 0;) sum.Add(levels_[i].current.Take(kSliceRows));
  return sum.Take(max_rows);
}

WallTime TopWindows::BeginOf(TopWindow window) const {
  const Level& level = levels_[static_cast<std::size_t>(window)];
  return WallTime{(level.number - static_cast<std::int64_t>(level.slices)) * level.length};
}

}  // namespace sluice::telemetry
