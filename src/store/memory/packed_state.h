#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <sluice/limit.h>

#include "algo/state.h"
#include "base/key_hash.h"

namespace sluice::store {

/// State that does not fit into a cell: a history, a grant, a name, numbers without a shape, large
/// counts.
struct ExtendedState {
  Limit limit;
  algo::State state{};
  algo::History history{};
  std::string name{};
  /// Bytes included in the store's total.
  std::size_t counted_bytes = 0;
  bool from_caller = false;  ///< Copy of the cell's flag.

  /// Returns the approximate heap memory.
  [[nodiscard]] std::size_t Bytes() const;
  /// Returns the heap memory of a new one without a history.
  static std::size_t BytesWithName(std::size_t name_bytes);
};

/// One key in the table: fingerprint, shape of its limit, and state, in 32 bytes.
///
/// Does not own its ExtendedState: the code that removes a cell from the table frees it.
class Cell {
 public:
  enum class Form : std::uint8_t { kEmpty, kPair, kCounter, kExtended };

  Cell() = default;

  [[nodiscard]] bool empty() const { return fingerprint_ == 0; }
  [[nodiscard]] Form form() const { return static_cast<Form>(fingerprint_ & kFormMask); }
  /// True for a key of kind kFromCaller. Not changed by packing.
  [[nodiscard]] bool from_caller() const { return (fingerprint_ & kFromCaller) != 0; }
  void SetFromCaller() { fingerprint_ |= kFromCaller; }
  /// The sort key of cells in the table.
  [[nodiscard]] std::uint64_t order() const { return fingerprint_ >> 3; }
  [[nodiscard]] bool Is(const KeyHash& hash) const {
    // Without a branch: `order` alone is rarely equal.
    return ((order() ^ hash.high) | (low_ ^ hash.low)) == 0;
  }
  [[nodiscard]] std::uint64_t low() const { return low_; }

  [[nodiscard]] const LimitNumbers& Numbers() const;
  /// Returns whether the state is stored in the cell itself, under these numbers.
  [[nodiscard]] bool IsInlineUnder(const Limit& limit) const {
    return form() != Form::kExtended && limit.shape() != 0 && shape() == limit.shape();
  }
  [[nodiscard]] algo::State State() const;
  /// Time and value of a state in the form kPair, and their replacement.
  [[nodiscard]] WallTime PairTime() const {
    return WallTime{Micros{static_cast<std::int64_t>(a_ & Mask(kTimeBits))}};
  }
  [[nodiscard]] std::int64_t PairValue() const {
    // Shifted up first, so that the shift down copies the sign.
    const std::uint64_t high = b_ << (64 - kPairHighBits);
    return (static_cast<std::int64_t>(high) >> (64 - kPairHighBits - kLowBits)) |
           static_cast<std::int64_t>(a_ >> kTimeBits);
  }
  void SetPair(WallTime at, std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(value);
    a_ = static_cast<std::uint64_t>(at.time_since_epoch().count()) | (bits & Mask(kLowBits))
                                                                         << kTimeBits;
    b_ = (b_ & ~Mask(kShapeShift)) | (bits >> kLowBits & Mask(kPairHighBits));
  }
  /// nullptr unless the form is kExtended.
  [[nodiscard]] ExtendedState* extended() const {
    return form() == Form::kExtended ? std::bit_cast<ExtendedState*>(a_) : nullptr;
  }

  /// Returns when the key is fresh; kNever while a grant without expiry is left.
  [[nodiscard]] WallTime FreshAt() const;

  /// The largest count of a sliding counter's window that fits into a cell.
  static constexpr std::int64_t kMostCounted = (std::int64_t{1} << 27) - 1;

  /// Stores the state in the cell if it fits. Returns false, and writes nothing, otherwise.
  bool TryPack(const KeyHash& hash, const Limit& limit, const algo::State& state);
  void SetExtended(const KeyHash& hash, ExtendedState* extended);

 private:
  static constexpr std::uint64_t kFormMask = 3;
  static constexpr std::uint64_t kFromCaller = 4;
  static constexpr int kTimeBits = 53;
  static constexpr int kLowBits = 64 - kTimeBits;
  static constexpr int kPairHighBits = 44;
  static constexpr int kCounterBits = 27;
  static constexpr int kCounterHighBits = kCounterBits - kLowBits;
  static constexpr int kShapeShift = 48;

  static constexpr std::uint64_t Mask(int bits) { return (std::uint64_t{1} << bits) - 1; }
  [[nodiscard]] std::uint32_t shape() const {
    return static_cast<std::uint32_t>(b_ >> kShapeShift);
  }

  /// Returns `fingerprint_` for a key in this form; keeps the kFromCaller bit.
  [[nodiscard]] std::uint64_t Marked(const KeyHash& hash, Form form) const {
    return hash.high << 3 | (fingerprint_ & kFromCaller) | static_cast<std::uint64_t>(form);
  }

  /// KeyHash::high, kFromCaller, and the form in the lowest two bits.
  std::uint64_t fingerprint_ = 0;
  std::uint64_t low_ = 0;
  // kPair: a_ = at (53 bits), value (lowest 11 bits); b_ = value (other 44 bits), shape (16 bits).
  // kCounter: a_ = at (53), value (lowest 11); b_ = value (other 16), previous (27), –, shape (16).
  // kExtended: a_ = pointer.
  std::uint64_t a_ = 0;
  std::uint64_t b_ = 0;
};

static_assert(sizeof(Cell) == 32);

inline algo::State Cell::State() const {
  if (form() == Form::kExtended) return extended()->state;
  algo::State state;
  if (form() == Form::kPair) {
    state.value = PairValue();
  } else {
    const std::uint64_t low = a_ >> kTimeBits;
    state.value = static_cast<std::int64_t>((b_ & Mask(kCounterHighBits)) << kLowBits | low);
    state.previous = static_cast<std::int64_t>((b_ >> kCounterHighBits) & Mask(kCounterBits));
  }
  state.at = PairTime();
  return state;
}

inline bool Cell::TryPack(const KeyHash& hash, const Limit& limit, const algo::State& state) {
  if (limit.shape() == 0 || state.grant != 0 || state.history != nullptr) return false;
  const auto value = static_cast<std::uint64_t>(state.value);
  const auto at = static_cast<std::uint64_t>(state.at.time_since_epoch().count());
  const std::uint64_t shape = std::uint64_t{limit.shape()} << kShapeShift;
  auto form = Form::kPair;
  std::uint64_t b = (value >> kLowBits & Mask(kPairHighBits)) | shape;
  if (limit.algorithm() == Algorithm::kSlidingWindowCounter) {
    const auto previous = static_cast<std::uint64_t>(state.previous);
    if (value > Mask(kCounterBits) || previous > Mask(kCounterBits)) return false;
    form = Form::kCounter;
    b = value >> kLowBits | previous << kCounterHighBits | shape;
  }
  fingerprint_ = Marked(hash, form);
  low_ = hash.low;
  a_ = at | (value & Mask(kLowBits)) << kTimeBits;
  b_ = b;
  return true;
}

}  // namespace sluice::store
