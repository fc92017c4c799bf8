#include "store/memory/packed_state.h"

#include <bit>

#include "algo/shape.h"

namespace sluice::store {
namespace {

// malloc's own share of a block.
constexpr std::size_t kBlockOverhead = 16;

template <typename T>
std::size_t BytesOf(const std::vector<T>& v) {
  return v.capacity() == 0 ? 0 : v.capacity() * sizeof(T) + kBlockOverhead;
}

}  // namespace

std::size_t Extended::Bytes() const {
  const bool name_on_heap = name.capacity() > std::string().capacity();
  return sizeof(Extended) + kBlockOverhead + BytesOf(history.log) + BytesOf(history.slots) +
         (name_on_heap ? name.capacity() + kBlockOverhead : 0);
}

const LimitNumbers& Cell::Numbers() const {
  return form() == Form::kExtended ? extended()->limit.numbers() : algo::NumbersOf(shape());
}

WallTime Cell::FreshAt() const {
  const algo::State state = State();
  return state.grant > 0 ? algo::kNever : algo::FreshAt(Numbers(), state);
}

void Cell::SetExtended(const KeyHash& hash, Extended* extended) {
  fingerprint_ = hash.high << 3 | static_cast<std::uint64_t>(Form::kExtended);
  low_ = hash.low;
  a_ = std::bit_cast<std::uint64_t>(extended);
  b_ = 0;
}

}  // namespace sluice::store
