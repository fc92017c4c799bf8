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
// How many hashes are computed while a segment's header comes in.
constexpr std::size_t kLead = 4;

// Fills in the answer of a call that makes no sense.
bool Refused(Call& call) {
  call.affected = 0;
  const auto refusal = Refusal(call);
  if (!refusal) return false;
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
    const KeyHash hash = table_->HashOf(call.uses[0].key);
    table_->PrefetchCells(hash);  // Under way while the lock is taken.
    table_->RunOne(call, hash);
  } else {
    table_->RunSeveral(call);
  }
  return Answered::kNow;
}

void MemoryStore::SubmitBatch(std::span<Call* const> calls) {
  while (!calls.empty()) {
    const auto batch = calls.first(std::min(calls.size(), kBatch));
    SubmitSome(batch);
    calls = calls.subspan(batch.size());
  }
}

void MemoryStore::SubmitSome(std::span<Call* const> calls) {
  // In halves: a whole hash would be read back before both of its halves have been stored.
  std::array<std::uint64_t, kBatch> high;
  std::array<std::uint64_t, kBatch> low;
  for (std::size_t i = 0; i < calls.size() + kLead; ++i) {
    if (i < calls.size() && calls[i]->uses.size() == 1) {
      const KeyHash hash = table_->HashOf(calls[i]->uses[0].key);
      high[i] = hash.high;
      low[i] = hash.low;
      table_->PrefetchSegment(hash);
    }
    // By now the segment is there, and tells where the cells are.
    if (i >= kLead && calls[i - kLead]->uses.size() == 1) {
      table_->PrefetchCells({high[i - kLead], low[i - kLead]});
    }
  }
  for (std::size_t i = 0; i < calls.size(); ++i) {
    Call& call = *calls[i];
    if (Refused(call)) continue;
    if (call.uses.size() == 1) {
      table_->RunOne(call, {high[i], low[i]});
    } else {
      table_->RunSeveral(call);
    }
  }
}

void MemoryStore::Walk(WallTime now, const std::function<bool(const KeyState&)>& visit) const {
  table_->Walk(algo::ClampTime(now), visit);
}

MemoryStoreStats MemoryStore::StatsApprox() const { return table_->StatsApprox(); }

}  // namespace sluice::store
