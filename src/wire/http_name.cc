#include "wire/http_name.h"

#include <cstring>

namespace sluice::wire {
namespace {

// Length and three letters distinguish all known names; the compiler checks it below.
constexpr std::size_t kSlots = 64;
constexpr std::size_t SlotOf(std::string_view name) {
  const auto letter = [&](std::size_t at) {
    return static_cast<std::size_t>(static_cast<unsigned char>(name[at]) | 0x20);
  };
  return (name.size() + letter(0) + letter(name.size() / 2) * 4 + letter(name.size() - 1)) % kSlots;
}

struct Slots {
  std::array<HttpName, kSlots> names{};
  bool all_have_one = true;
};

constexpr Slots MakeSlots() {
  Slots slots;
  for (std::size_t i = 1; i < kHttpNames.size(); ++i) {
    HttpName& slot = slots.names[SlotOf(kHttpNames[i])];
    if (slot != HttpName::kOther) slots.all_have_one = false;
    slot = static_cast<HttpName>(i);
  }
  return slots;
}

constexpr Slots kSlotTable = MakeSlots();
static_assert(kSlotTable.all_have_one, "two names share a slot: choose another sum in SlotOf");

template <typename Word>
Word Load(const char* from) {
  Word word;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

// Names are letters and '-', which no other byte of a token becomes by setting this bit.
template <typename Word>
bool SameLetters(const char* sent, const char* known, std::size_t size) {
  constexpr auto kLower = static_cast<Word>(0x2020202020202020U);
  const std::size_t last = size - sizeof(Word);
  for (std::size_t at = 0; at < last; at += sizeof(Word)) {
    if ((Load<Word>(sent + at) | kLower) != Load<Word>(known + at)) return false;
  }
  return (Load<Word>(sent + last) | kLower) == Load<Word>(known + last);
}

}  // namespace

HttpName FindHttpName(std::string_view name) noexcept {
  constexpr std::size_t kShortest = 4;
  if (name.size() < kShortest) return HttpName::kOther;
  const HttpName found = kSlotTable.names[SlotOf(name)];
  const std::string_view known = kHttpNames[static_cast<std::size_t>(found)];
  if (known.size() != name.size()) return HttpName::kOther;
  const bool same = name.size() < sizeof(std::uint64_t)
                        ? SameLetters<std::uint32_t>(name.data(), known.data(), name.size())
                        : SameLetters<std::uint64_t>(name.data(), known.data(), name.size());
  return same ? found : HttpName::kOther;
}

}  // namespace sluice::wire
