#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include <sluice/result.h>

#include "base/key_hash.h"
#include "store/store.h"

namespace sluice::store {

struct MemoryStoreOptions {
  std::size_t max_keys = 10'000'000;
  std::size_t max_bytes = 0;  ///< 0: as much as max_keys needs.
  bool keep_names = false;    ///< So that Walk can tell them.
};

struct MemoryStoreStats {
  std::size_t keys = 0;
  std::size_t bytes = 0;
  std::uint64_t expired = 0;
  std::uint64_t refused = 0;
};

/// State in this process's memory. Thread-safe; answers every call at once. If the system has no
/// memory left in the middle of a call, the process ends: what is half taken can't be told.
///
/// Keys are known by a keyed 122-bit fingerprint, so that different keys share a state with a
/// probability below 2^-100, whoever chose them. A bucket or window costs 33 bytes in a table that
/// is 85 to 90 % full; see the README beside this file for how it grows and cleans itself.
class MemoryStore final : public Store {
 public:
  static Result<std::unique_ptr<MemoryStore>> Create(const MemoryStoreOptions& options);
  ~MemoryStore() override;

  Answered Submit(Call& call) noexcept override;
  void SubmitBatch(std::span<Call* const> calls) noexcept override;

  /// Visits every live key until `visit` returns false; keys that come or go meanwhile may or may
  /// not be seen. No lock is held while `visit` runs.
  void Walk(WallTime now, const std::function<bool(const KeyState&)>& visit) const;

  [[nodiscard]] MemoryStoreStats StatsApprox() const;

 private:
  class Table;
  explicit MemoryStore(std::unique_ptr<Table> table);
  std::unique_ptr<Table> table_;
};

}  // namespace sluice::store
