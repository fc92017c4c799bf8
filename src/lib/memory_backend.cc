#include <utility>

#include "base/clock.h"
#include "lib/backend.h"
#include "store/memory/memory_store.h"

namespace sluice {
namespace {

class MemoryBackend final : public Backend {
 public:
  MemoryBackend(std::unique_ptr<store::MemoryStore> store, const Clock& clock)
      : store_(std::move(store)), clock_(clock) {}

  void Run(store::Call& call) override {
    call.now = clock_.Now();
    store_->Submit(call);
  }

  void RunBatch(std::span<store::Call* const> calls) override {
    const WallTime now = clock_.Now();
    for (store::Call* call : calls) call->now = now;
    store_->SubmitBatch(calls);
  }

  bool Walk(const std::function<bool(const store::KeyState&)>& visit) override {
    store_->Walk(clock_.Now(), visit);
    return true;
  }

  [[nodiscard]] LimiterStats Stats() const override {
    const store::MemoryStoreStats stats = store_->StatsApprox();
    return {.keys = stats.keys,
            .bytes = stats.bytes,
            .expired = stats.expired,
            .refused = stats.refused};
  }

 private:
  std::unique_ptr<store::MemoryStore> store_;
  const Clock& clock_;
};

}  // namespace

Result<std::unique_ptr<Backend>> MakeMemoryBackend(const LimiterOptions& options) {
  auto store = store::MemoryStore::Create({.max_keys = options.max_keys,
                                           .max_bytes = options.max_bytes,
                                           .keep_names = options.keep_names});
  if (!store) return store.error();
  const Clock& clock = options.clock != nullptr ? *options.clock : TheSystemClock();
  return std::unique_ptr<Backend>(std::make_unique<MemoryBackend>(std::move(*store), clock));
}

}  // namespace sluice
