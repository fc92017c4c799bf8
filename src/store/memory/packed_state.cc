#include "store/memory/packed_state.h"

#include <algorithm>
#include <bit>

#include "algo/history.h"
#include "algo/shape.h"

namespace sluice::store {
namespace {

std::size_t BytesOfName(std::size_t capacity) {
  return capacity > std::string().capacity() ? capacity + algo::kBlockOverhead : 0;
}

}  // namespace

std::size_t ExtendedState::Bytes() const {
  return sizeof(ExtendedState) + algo::kBlockOverhead + algo::BytesOf(history) +
         BytesOfName(name.capacity());
}

std::size_t ExtendedState::BytesWithName(std::size_t name_bytes) {
  return sizeof(ExtendedState) + algo::kBlockOverhead + BytesOfName(name_bytes);
}

const LimitNumbers& Cell::Numbers() const {
  return form() == Form::kExtended ? extended()->limit.numbers() : algo::NumbersOf(shape());
}

WallTime Cell::FreshAt() const {
  const algo::State state = State();
  const WallTime fresh = algo::FreshAt(Numbers(), state);
  return state.grant > 0 ? std::max(fresh, algo::GrantEnd(state)) : fresh;
}

void Cell::SetExtended(const KeyHash& hash, ExtendedState* extended) {
  fingerprint_ = Marked(hash, Form::kExtended);
  low_ = hash.low;
  a_ = std::bit_cast<std::uint64_t>(extended);
  b_ = 0;
}

}  // namespace sluice::store
