#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sluice/result.h>

#include "api/admin/key_services.h"
#include "base/key_hash.h"
#include "redis/primary_clients.h"
#include "store/key_directory.h"
#include "store/memory/memory_store.h"

namespace sluice::server {

/// Some of the keys that a selector matches.
struct KeyPortion {
  std::vector<api::ListedKey> keys{};
  std::string cursor{};       ///< Of the next portion; empty: this is the last.
  std::uint64_t scanned = 0;  ///< Keys that were looked at.
};

/// Finds the live keys of a store in portions that take about a millisecond each. Thread-safe;
/// blocks.
class KeySource {
 public:
  virtual ~KeySource() = default;

  /// Begins with an empty cursor. Keys that are there all the time are found at least once. Fails
  /// with kInvalidOptions if the cursor is not one of this source.
  virtual Result<KeyPortion> Next(const api::KeySelector& selector, const std::string& cursor) = 0;
  /// False: there may be live keys that it does not find.
  [[nodiscard]] virtual bool is_complete() const = 0;
};

/// The keys in Redis: SCAN, one primary after the other.
class RedisKeySource final : public KeySource {
 public:
  /// `names` may be null. Both must outlive it.
  RedisKeySource(redis::PrimaryClients& primaries, const store::KeyDirectories* names)
      : primaries_(primaries), names_(names) {}

  Result<KeyPortion> Next(const api::KeySelector& selector, const std::string& cursor) override;
  [[nodiscard]] bool is_complete() const override { return true; }

 private:
  redis::PrimaryClients& primaries_;
  const store::KeyDirectories* const names_;
};

/// The keys of a memory store, as far as their names are known. Cursors are authenticated: they
/// are places in memory.
class MemoryKeySource final : public KeySource {
 public:
  /// `names` may be null: there are none. Both must outlive it.
  MemoryKeySource(const store::MemoryStore& store, const store::KeyDirectories* names)
      : store_(store), names_(names) {}

  Result<KeyPortion> Next(const api::KeySelector& selector, const std::string& cursor) override;
  [[nodiscard]] bool is_complete() const override;

 private:
  [[nodiscard]] std::string Seal(const std::string& text) const;

  const store::MemoryStore& store_;
  const store::KeyDirectories* const names_;
  const KeyHasher sealer_;
};

}  // namespace sluice::server
