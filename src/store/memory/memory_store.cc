#include "store/memory/memory_store.h"

#include <algorithm>
#include <array>

#include "algo/state.h"
#include "store/decide.h"
#include "store/memory/table.h"

namespace sluice::store {
namespace {

// How many calls have their cache misses under way at once.
constexpr std::size_t kBatch = 16;

// Fills in the answer of a call that makes no sense.
bool Refused(Call& call) {
  const auto refusal = Refusal(call);
  if (!refusal) {
    call.now = algo::ClampTime(call.now);
    call.affected = 0;
    return false;
  }
  call.ok = false;
  call.error = *refusal;
  return true;
}

}  // namespace

Result<std::unique_ptr<MemoryStore>> MemoryStore::Create(const MemoryStoreOptions& options) {
  auto table = Table::Create(options);
  if (!table) return table.error();
  return std::unique_ptr<MemoryStore>(new MemoryStore(std::move(*table)));
}

MemoryStore::MemoryStore(std::unique_ptr<Table> table) : table_(std::move(table)) {}
MemoryStore::~MemoryStore() = default;

Answered MemoryStore::Submit(Call& call) {
  if (Refused(call)) return Answered::kNow;
  if (call.uses.size() == 1) {
    table_->RunOne(call, table_->HashOf(call.uses[0].key));
  } else {
    table_->RunSeveral(call);
  }
  return Answered::kNow;
}

void MemoryStore::SubmitBatch(std::span<Call* const> calls) {
  std::array<KeyHash, kBatch> hashes;
  while (!calls.empty()) {
    const auto batch = calls.first(std::min(calls.size(), kBatch));
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (batch[i]->uses.size() != 1) continue;
      hashes[i] = table_->HashOf(batch[i]->uses[0].key);
      table_->PrefetchSegment(hashes[i]);
    }
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (batch[i]->uses.size() == 1) table_->PrefetchCells(hashes[i]);
    }
    for (std::size_t i = 0; i < batch.size(); ++i) {
      Call& call = *batch[i];
      if (Refused(call)) continue;
      if (call.uses.size() == 1) {
        table_->RunOne(call, hashes[i]);
      } else {
        table_->RunSeveral(call);
      }
    }
    calls = calls.subspan(batch.size());
  }
}

void MemoryStore::Walk(WallTime now, const std::function<bool(const KeyState&)>& visit) const {
  table_->Walk(algo::ClampTime(now), visit);
}

MemoryStoreStats MemoryStore::StatsApprox() const { return table_->StatsApprox(); }

}  // namespace sluice::store
