// Bytes are read as a trace for `sluice simulate`, whole and in pieces, which must give the same
// calls and the same complaints.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulate/trace_reader.h"

namespace {

using sluice::simulate::TraceReader;

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

std::string Describe(const TraceReader& reader, TraceReader::Item item) {
  std::string text = std::to_string(reader.line()) + ": ";
  if (item != TraceReader::Item::kCall) return text + reader.problem();
  const sluice::simulate::TraceRow& row = reader.row();
  text += std::to_string(row.time.time_since_epoch().count()) + " cost " + std::to_string(row.cost);
  if (row.duration) text += " for " + std::to_string(row.duration->count());
  for (const auto& attribute : row.attributes) {
    text.append(" ").append(attribute.name).append("=").append(attribute.value);
  }
  return text;
}

std::vector<std::string> Read(std::string_view bytes, std::size_t piece) {
  TraceReader reader([&](std::span<char> room) {
    const std::size_t count = std::min({bytes.size(), piece, room.size()});
    bytes.copy(room.data(), count);
    bytes.remove_prefix(count);
    return count;
  });
  std::vector<std::string> items;
  for (auto item = reader.Next(); item != TraceReader::Item::kEnd; item = reader.Next()) {
    Require(item == TraceReader::Item::kCall || !reader.problem().empty(),
            "refused without a word");
    Require(item != TraceReader::Item::kCall || reader.row().cost >= 0, "a cost below nothing");
    items.push_back(Describe(reader, item));
  }
  Require(reader.Next() == TraceReader::Item::kEnd, "it goes on after its end");
  return items;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto items = Read(bytes, bytes.size() + 1);
  Require(Read(bytes, std::size_t{data[0]} + 1) == items, "in pieces it means something else");
  return 0;
}
