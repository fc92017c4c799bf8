#include "store/key_census.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <mutex>
#include <string>

#include <sys/mman.h>

namespace sluice::store {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

constexpr int kClassShift = 32;
constexpr int kFingerprintShift = 37;
constexpr std::uint64_t kClassMask = 31;
constexpr std::int64_t kSlicesPerLife = 128;
// Cells per key of the bound: full buckets are rare.
constexpr std::size_t kCellsPerKey = 2;

std::uint32_t ClassOf(std::uint64_t cell) {
  return static_cast<std::uint32_t>(cell >> kClassShift & kClassMask);
}

std::int64_t SliceOf(std::uint64_t cell) { return static_cast<std::uint32_t>(cell); }

std::uint64_t FingerprintOf(const KeyHash& hash) {
  // Never 0, so that no cell in use is.
  return std::max<std::uint64_t>(hash.low >> 34, 1);
}

bool IsLive(std::uint64_t cell, std::int64_t now) { return SliceOf(cell) > now >> ClassOf(cell); }

}  // namespace

Result<std::unique_ptr<KeyCensus>> KeyCensus::Create(std::size_t bound) {
  constexpr std::size_t kMostKeys = std::size_t{1} << 32;
  if (bound < 1 || bound > kMostKeys) {
    return Error{ErrorCode::kInvalidOptions,
                 "the bound must be between 1 and 2^32, found " + std::to_string(bound)};
  }
  // Minimum number of buckets, for an even distribution.
  const std::size_t buckets = std::max<std::size_t>(
      std::bit_ceil(kCellsPerKey * bound / (kRegions * kCellsPerBucket) + 1), 16);
  void* const memory =
      mmap(nullptr, kRegions * buckets * kCellsPerBucket * sizeof(Cell), PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return Error{ErrorCode::kInvalidOptions,
                 "can't reserve memory for " + std::to_string(bound) + " keys"};
  }
  return std::unique_ptr<KeyCensus>(new KeyCensus(bound, static_cast<Cell*>(memory), buckets));
}

KeyCensus::KeyCensus(std::size_t bound, Cell* cells, std::size_t buckets)
    : bound_(bound),
      cells_(cells),
      buckets_(buckets),
      owned_regions_(std::make_unique<std::array<Region, kRegions>>()),
      regions_(*owned_regions_) {}

KeyCensus::~KeyCensus() { munmap(cells_, kRegions * buckets_ * kCellsPerBucket * sizeof(Cell)); }

bool KeyCensus::Admit(const Key& key, WallTime now, Micros life) {
  const KeyHash hash = hasher_(key);
  if (AdmitInRegion(hash, now, life)) return true;
  // Other regions may count expired keys.
  if (Count(now) < bound_ && AdmitInRegion(hash, now, life)) return true;
  refused_.fetch_add(1, kRelaxed);
  return false;
}

bool KeyCensus::AdmitInRegion(const KeyHash& hash, WallTime now, Micros life) {
  Region& region = RegionOf(hash);
  const std::lock_guard lock(region.lock);
  Rotate(region, now);
  const CellPair place = Find(region, hash);
  if (place.known != nullptr) return true;
  if (place.free == nullptr || live_.load(kRelaxed) >= bound_) return false;
  Put(region, *place.free, hash, life);
  return true;
}

void KeyCensus::SetLife(const Key& key, WallTime now, Micros life) {
  const KeyHash hash = hasher_(key);
  Region& region = RegionOf(hash);
  const std::lock_guard lock(region.lock);
  Rotate(region, now);
  const CellPair place = Find(region, hash);
  if (place.known != nullptr) Remove(region, *place.known);
  Cell* const cell = place.known != nullptr ? place.known : place.free;
  if (life > Micros{0} && cell != nullptr) Put(region, *cell, hash, life);
}

std::size_t KeyCensus::Count(WallTime now) {
  for (Region& region : regions_) {
    const std::lock_guard lock(region.lock);
    Rotate(region, now);
  }
  return live_.load(kRelaxed);
}

// Subtracts expired slices.
void KeyCensus::Rotate(Region& region, WallTime now) {
  const std::int64_t seconds =
      std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
  if (seconds <= region.now) return;
  std::size_t over = 0;
  for (std::size_t c = 0; c < kClasses; ++c) {
    const std::int64_t last = seconds >> c;
    // Keys expire at most this many slices after they were counted.
    std::int64_t slice = std::max(region.now >> c, last - static_cast<std::int64_t>(kSlices));
    while (slice < last) {
      std::uint32_t& count = region.counts[c][static_cast<std::size_t>(++slice) % kSlices];
      over += count;
      count = 0;
    }
  }
  region.now = seconds;
  live_.fetch_sub(over, kRelaxed);
}

KeyCensus::CellPair KeyCensus::Find(const Region& region, const KeyHash& hash) const {
  const auto number = static_cast<std::size_t>(&region - regions_.data());
  const std::uint64_t fingerprint = FingerprintOf(hash);
  CellPair place;
  for (std::size_t probe = 0; probe < kMostProbes; ++probe) {
    const std::size_t bucket = (hash.high + probe) & (buckets_ - 1);
    Cell* const first = cells_ + (number * buckets_ + bucket) * kCellsPerBucket;
    for (Cell* cell = first; cell != first + kCellsPerBucket; ++cell) {
      if (*cell >> kFingerprintShift == fingerprint && IsLive(*cell, region.now)) {
        place.known = cell;
        return place;
      }
      const bool never_used = *cell == 0;
      if (place.free == nullptr && (never_used || !IsLive(*cell, region.now))) place.free = cell;
      if (never_used) return place;  // Cells are filled in order.
    }
  }
  return place;
}

void KeyCensus::Put(Region& region, Cell& cell, const KeyHash& hash, Micros life) {
  // One more, because now is not the beginning of a second.
  const std::int64_t seconds = std::chrono::ceil<std::chrono::seconds>(life).count() + 1;
  std::uint32_t life_class = 0;
  while (life_class < kClasses - 1 && seconds > kSlicesPerLife << life_class) ++life_class;
  // The first slice that begins when the key has ended.
  const std::int64_t whole = std::int64_t{1} << life_class;
  const std::int64_t slice = std::min<std::int64_t>(
      (region.now + seconds + whole - 1) >> life_class, std::numeric_limits<std::uint32_t>::max());
  cell = FingerprintOf(hash) << kFingerprintShift | std::uint64_t{life_class} << kClassShift |
         static_cast<std::uint64_t>(slice);
  ++region.counts[life_class][static_cast<std::size_t>(slice) % kSlices];
  live_.fetch_add(1, kRelaxed);
}

void KeyCensus::Remove(Region& region, Cell& cell) {
  --region.counts[ClassOf(cell)][static_cast<std::size_t>(SliceOf(cell)) % kSlices];
  live_.fetch_sub(1, kRelaxed);
  cell &= ~std::uint64_t{0xFFFFFFFF};
}

}  // namespace sluice::store
