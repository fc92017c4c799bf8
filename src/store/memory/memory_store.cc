#include "store/memory/memory_store.h"

#include <algorithm>

#include "algo/bucket.h"
#include "algo/state.h"
#include "store/decide.h"
#include "store/memory/table.h"

namespace sluice::store {
namespace {

// Sets the result of an invalid call.
bool Refused(StoreCall& call) {
  call.affected = 0;
  call.pending = false;
  const bool leases = call.operation == Operation::kFetch || call.operation == Operation::kReturn;
  const auto refusal = leases ? ErrorCode::kNotSupported : Refusal(call);
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

Completion MemoryStore::Submit(StoreCall& call) noexcept {
  if (Refused(call)) return Completion::kNow;
  const bool settles =
      call.operation == Operation::kAdjust && call.uses.size() == 1 && call.uses[0].settlement;
  if (call.uses.size() == 1 && !settles) {
    const KeyHash hash = table_->HashOf(call.uses[0].key);
    table_->RunOne(call, hash);
  } else {
    table_->RunSeveral(call);
  }
  return Completion::kNow;
}

void MemoryStore::SubmitBatch(std::span<StoreCall* const> calls) noexcept {
  while (!calls.empty()) {
    const auto batch = calls.first(std::min(calls.size(), Table::kBatch));
    if (std::all_of(batch.begin(), batch.end(),
                    [](const StoreCall* call) { return IsPlainCheck(*call); })) {
      table_->RunPlainChecks(batch);
    } else {
      for (StoreCall* call : batch) Submit(*call);
    }
    calls = calls.subspan(batch.size());
  }
}

KeyHasher::Prefix MemoryStore::HashScope(std::string_view scope) const {
  return table_->HashScope(scope);
}

void MemoryStore::CheckBucket(const KeyHasher::Prefix* prefix, const Key& key,
                              BucketCheck& check) noexcept {
  table_->CheckBucket(prefix, key, check);
}

void MemoryStore::CheckBuckets(const KeyHasher::Prefix* prefix, std::span<const Key> keys,
                               std::span<BucketCheck> checks) noexcept {
  table_->CheckBuckets(prefix, keys, checks);
}

Verdict BucketCheck::verdict() const {
  return algo::bucket::VerdictOf(limit->numbers(), now, {.at = at, .value = value}, cost, allowed);
}

Receipt BucketCheck::receipt() const {
  return allowed ? Receipt{.amount = cost, .at = at} : Receipt{};
}

void MemoryStore::Walk(WallTime now, const std::function<bool(const KeyState&)>& visit) const {
  table_->Walk(algo::ClampTime(now), visit);
}

bool MemoryStore::IsLive(const Key& key, WallTime now) const {
  return table_->IsLive(key, algo::ClampTime(now));
}

MemoryStoreStats MemoryStore::StatsApprox() const { return table_->StatsApprox(); }

}  // namespace sluice::store
