#pragma once

#include <memory>
#include <utility>

#include "store/memory/memory_store.h"
#include "store/testing/driver.h"

namespace sluice::store::testing {

class MemoryDriver final : public Driver {
 public:
  explicit MemoryDriver(const MemoryStoreOptions& options = {.max_keys = 1'000'000})
      : store_(std::move(MemoryStore::Create(options)).value()) {}

  MemoryStore& store() override { return *store_; }

 private:
  std::unique_ptr<MemoryStore> store_;
};

}  // namespace sluice::store::testing
