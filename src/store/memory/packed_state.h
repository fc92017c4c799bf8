#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <sluice/limit.h>

#include "algo/state.h"
#include "base/key_hash.h"

namespace sluice::store {

/// What does not fit into a cell: histories, grants, names, numbers without a shape, huge counts.
struct Extended {
  Limit limit;
  algo::State state{};
  algo::History history{};
  std::string name{};
  /// The part of it that is in the store's sum.
  std::size_t counted_bytes = 0;

  /// What it occupies on the heap, about.
  [[nodiscard]] std::size_t Bytes() const;
};

/// One key in the table: its fingerprint, the shape of its limit and its state, in 32 bytes.
///
/// Not an owner: whoever removes a cell from the table frees its Extended.
class Cell {
 public:
  enum class Form : std::uint8_t { kEmpty, kPair, kCounter, kExtended };

  Cell() = default;

  [[nodiscard]] bool empty() const { return fingerprint_ == 0; }
  [[nodiscard]] Form form() const { return static_cast<Form>(fingerprint_ & 7); }
  /// Cells lie in the table in this order.
  [[nodiscard]] std::uint64_t order() const { return fingerprint_ >> 3; }
  [[nodiscard]] bool Is(const KeyHash& hash) const {
    return order() == hash.high && low_ == hash.low;
  }
  [[nodiscard]] std::uint64_t id() const { return low_; }

  [[nodiscard]] const LimitNumbers& Numbers() const;
  [[nodiscard]] algo::State State() const;
  /// nullptr unless the form is kExtended.
  [[nodiscard]] Extended* extended() const;

  /// Writes the state inline if it fits there; false (and nothing written) if it doesn't.
  bool TryPack(const KeyHash& hash, const Limit& limit, const algo::State& state);
  void SetExtended(const KeyHash& hash, Extended* extended);

 private:
  [[nodiscard]] std::uint32_t shape() const { return static_cast<std::uint32_t>(b_ >> 48); }

  std::uint64_t fingerprint_ = 0;  ///< KeyHash::high, and the form in the lowest three bits.
  std::uint64_t low_ = 0;
  // kPair: a_ = at (53 bits), value (lowest 11 bits); b_ = value (other 44 bits), shape (16 bits).
  // kCounter: a_ = at (53), value (lowest 11); b_ = value (other 16), previous (27), –, shape (16).
  // kExtended: a_ = pointer.
  std::uint64_t a_ = 0;
  std::uint64_t b_ = 0;
};

static_assert(sizeof(Cell) == 32);

}  // namespace sluice::store
