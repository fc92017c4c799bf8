#include "redis/slot.h"

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace sluice::redis {
namespace {

// CRC-16/XMODEM: polynomial 0x1021, highest bit first, nothing inverted.
constexpr std::array<std::uint16_t, 256> MakeTable() {
  std::array<std::uint16_t, 256> table{};
  for (unsigned byte = 0; byte < table.size(); ++byte) {
    unsigned remainder = byte << 8;
    for (int bit = 0; bit < 8; ++bit) {
      remainder = (remainder & 0x8000U) != 0 ? (remainder << 1) ^ 0x1021U : remainder << 1;
    }
    table[byte] = static_cast<std::uint16_t>(remainder);
  }
  return table;
}

std::uint16_t Crc16(std::string_view bytes) {
  static constexpr std::array<std::uint16_t, 256> kTable = MakeTable();
  unsigned remainder = 0;
  for (const char byte : bytes) {
    const unsigned index = ((remainder >> 8) ^ static_cast<unsigned char>(byte)) & 0xFFU;
    remainder = ((remainder << 8) & 0xFFFFU) ^ kTable[index];
  }
  return static_cast<std::uint16_t>(remainder);
}

std::string_view TagOf(std::string_view key) {
  const std::size_t open = key.find('{');
  if (open == std::string_view::npos) return key;
  const std::size_t close = key.find('}', open + 1);
  if (close == std::string_view::npos || close == open + 1) return key;
  return key.substr(open + 1, close - open - 1);
}

}  // namespace

std::uint16_t SlotOf(std::string_view key) { return Crc16(TagOf(key)) % kSlots; }

std::uint32_t TagNumberOf(std::uint16_t slot) {
  static const std::vector<std::uint32_t> numbers = [] {
    std::vector<std::uint32_t> found(kSlots, 0);
    std::size_t missing = kSlots;
    for (std::uint32_t number = 1; missing > 0; ++number) {
      std::uint32_t& known = found[SlotOf(std::to_string(number))];
      if (known != 0) continue;
      known = number;
      --missing;
    }
    return found;
  }();
  return numbers[slot % kSlots];
}

}  // namespace sluice::redis
