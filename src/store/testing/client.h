#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/testing/driver.h"

namespace sluice::store::testing {

/// Asks a store as a test reads best: a moment, a limit, a name.
class Client {
 public:
  /// Keys of different scopes are different.
  Client(Driver& driver, std::string scope) : driver_(driver), scope_(std::move(scope)) {}

  /// The time of all that follows.
  Client& At(Micros since_epoch) {
    now_ = WallTime{since_epoch};
    return *this;
  }
  [[nodiscard]] WallTime now() const { return now_; }

  /// A use to fill in further; `limit` and `name` must outlive it.
  [[nodiscard]] KeyUse UseOf(const Limit& limit, std::string_view name,
                             std::int64_t cost = 1) const;

  /// One limit, one key.
  KeyUse Check(const Limit& limit, std::string_view name, std::int64_t cost = 1);
  KeyUse Check(const KeyUse& use);
  KeyUse Peek(const Limit& limit, std::string_view name, std::int64_t cost = 1);
  KeyUse Grant(const Limit& limit, std::string_view name, std::int64_t amount,
               WallTime expires = {});
  KeyUse Settle(const Limit& limit, std::string_view name, const Receipt& receipt,
                std::int64_t cost);
  /// The same as the settlement of a receipt that outsiders hold, with its answers.
  KeyUse Settle(const Limit& limit, std::string_view name, const Receipt& receipt,
                std::int64_t cost, Settlement& settlement);
  Inspection Inspect(const Limit& limit, std::string_view name);
  std::size_t Reset(const Limit& limit, std::string_view name);
  std::size_t Release(const Limit& limit, std::string_view name, std::uint64_t slot);
  std::size_t Renew(const Limit& limit, std::string_view name, std::uint64_t slot);

  /// Several uses in one call; the answers are in them afterwards.
  bool CheckAll(std::vector<KeyUse>& uses);
  /// Any operation, answered in `call`.
  StoreCall Run(Operation operation, std::vector<KeyUse>& uses);

 private:
  KeyUse RunOne(Operation operation, const KeyUse& use);
  std::size_t CountAffected(Operation operation, const KeyUse& use);

  Driver& driver_;
  std::string scope_;
  WallTime now_{};
};

}  // namespace sluice::store::testing
