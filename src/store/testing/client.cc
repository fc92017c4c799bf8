#include "store/testing/client.h"

#include <gtest/gtest.h>

namespace sluice::store::testing {

KeyUse Client::UseOf(const Limit& limit, std::string_view name, std::int64_t cost) const {
  KeyUse use;
  use.key = {.scope = scope_, .tag = name, .rest = {}};
  use.limit = &limit;
  use.cost = cost;
  return use;
}

StoreCall Client::Run(Operation operation, std::vector<KeyUse>& uses) {
  StoreCall call;
  call.operation = operation;
  call.uses = uses;
  call.now = now_;
  driver_.Run(call);
  return call;
}

KeyUse Client::RunOne(Operation operation, const KeyUse& use) {
  std::vector<KeyUse> uses = {use};
  EXPECT_TRUE(Run(operation, uses).ok);
  return uses[0];
}

std::size_t Client::CountAffected(Operation operation, const KeyUse& use) {
  std::vector<KeyUse> uses = {use};
  const StoreCall call = Run(operation, uses);
  EXPECT_TRUE(call.ok);
  return call.affected;
}

KeyUse Client::Check(const KeyUse& use) { return RunOne(Operation::kCheck, use); }

KeyUse Client::Check(const Limit& limit, std::string_view name, std::int64_t cost) {
  return Check(UseOf(limit, name, cost));
}

KeyUse Client::Peek(const Limit& limit, std::string_view name, std::int64_t cost) {
  return RunOne(Operation::kPeek, UseOf(limit, name, cost));
}

KeyUse Client::Grant(const Limit& limit, std::string_view name, std::int64_t amount,
                     WallTime expires) {
  KeyUse use = UseOf(limit, name, amount);
  use.receipt.grant_expires = expires;
  return RunOne(Operation::kGrant, use);
}

KeyUse Client::Settle(const Limit& limit, std::string_view name, const Receipt& receipt,
                      std::int64_t cost) {
  KeyUse use = UseOf(limit, name, cost);
  use.receipt = receipt;
  return RunOne(Operation::kAdjust, use);
}

KeyUse Client::Settle(const Limit& limit, std::string_view name, const Receipt& receipt,
                      std::int64_t cost, Settlement& settlement) {
  KeyUse use = UseOf(limit, name, cost);
  use.receipt = receipt;
  use.settlement = &settlement;
  return RunOne(Operation::kAdjust, use);
}

Inspection Client::Inspect(const Limit& limit, std::string_view name) {
  Inspection inspection;
  KeyUse use = UseOf(limit, name, 0);
  use.inspection = &inspection;
  RunOne(Operation::kInspect, use);
  return inspection;
}

std::size_t Client::Reset(const Limit& limit, std::string_view name) {
  return CountAffected(Operation::kReset, UseOf(limit, name));
}

std::size_t Client::Release(const Limit& limit, std::string_view name, std::uint64_t slot) {
  KeyUse use = UseOf(limit, name);
  use.slot = slot;
  return CountAffected(Operation::kRelease, use);
}

std::size_t Client::Renew(const Limit& limit, std::string_view name, std::uint64_t slot) {
  KeyUse use = UseOf(limit, name);
  use.slot = slot;
  return CountAffected(Operation::kRenew, use);
}

bool Client::CheckAll(std::vector<KeyUse>& uses) {
  const StoreCall call = Run(Operation::kCheck, uses);
  EXPECT_TRUE(call.ok);
  return call.allowed;
}

}  // namespace sluice::store::testing
