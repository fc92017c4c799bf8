#include "store/memory/packed_state.h"

#include <bit>

#include "algo/shape.h"

namespace sluice::store {
namespace {

constexpr int kTimeBits = 53;
constexpr int kLowBits = 64 - kTimeBits;
constexpr int kPairHighBits = 44;
constexpr int kCounterBits = 27;
constexpr int kCounterHighBits = kCounterBits - kLowBits;
constexpr int kShapeShift = 48;

constexpr std::uint64_t Mask(int bits) { return (std::uint64_t{1} << bits) - 1; }

constexpr std::uint64_t kLowMask = Mask(kLowBits);

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

Extended* Cell::extended() const {
  return form() == Form::kExtended ? std::bit_cast<Extended*>(a_) : nullptr;
}

algo::State Cell::State() const {
  algo::State state;
  const auto at = static_cast<std::int64_t>(a_ & Mask(kTimeBits));
  const std::uint64_t low = a_ >> kTimeBits;
  switch (form()) {
    case Form::kPair: {
      // Shifted up first, so that the shift down copies the sign.
      const std::uint64_t high = b_ << (64 - kPairHighBits);
      state.value = (static_cast<std::int64_t>(high) >> (64 - kPairHighBits - kLowBits)) |
                    static_cast<std::int64_t>(low);
      break;
    }
    case Form::kCounter:
      state.value =
          static_cast<std::int64_t>((b_ & Mask(kCounterHighBits)) << kLowBits | low);
      state.previous = static_cast<std::int64_t>((b_ >> kCounterHighBits) & Mask(kCounterBits));
      break;
    case Form::kExtended:
      return extended()->state;
    case Form::kEmpty:
      break;
  }
  state.at = WallTime{Micros{at}};
  return state;
}

bool Cell::TryPack(const KeyHash& hash, const Limit& limit, const algo::State& state) {
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
  fingerprint_ = hash.high << 3 | static_cast<std::uint64_t>(form);
  low_ = hash.low;
  a_ = at | (value & kLowMask) << kTimeBits;
  b_ = b;
  return true;
}

void Cell::SetExtended(const KeyHash& hash, Extended* extended) {
  fingerprint_ = hash.high << 3 | static_cast<std::uint64_t>(Form::kExtended);
  low_ = hash.low;
  a_ = std::bit_cast<std::uint64_t>(extended);
  b_ = 0;
}

}  // namespace sluice::store
