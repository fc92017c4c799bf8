#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "net/loop.h"
#include "redis/service.h"
#include "redis/testing/await.h"
#include "store/redis/redis_store.h"

namespace sluice::store::testing {

/// A key and its limit, and what a load knows of it.
struct Budget {
  std::string scope;
  std::string tag;
  const Limit* limit = nullptr;
  std::int64_t taken = 0;  ///< By calls that were allowed.
};

/// Asks for some budgets again and again, many calls at a time, each about one or several of them.
class Load {
 public:
  Load(net::Loop& loop, const redis::Options& options, Micros deadline, std::size_t in_flight = 40)
      : loop_(loop),
        service_(redis::MakeService(loop, options)),
        store_(loop, *service_, {.deadline = deadline}),
        places_(in_flight) {}

  /// Stays good.
  Budget& AddBudget(std::string scope, std::string tag, const Limit& limit) {
    return budgets_.emplace_back(Budget{std::move(scope), std::move(tag), &limit});
  }
  /// From now on, calls that need all of these are asked, too.
  void Ask(std::vector<Budget*> budgets) { questions_.push_back(std::move(budgets)); }

  /// Runs the loop and keeps asking while `event` runs on a thread of its own, and until all calls
  /// are answered. Rethrows what the event throws.
  void During(const std::function<void()>& event) {
    asking_ = true;
    for (Place& place : places_) {
      place.load = this;
      AskNext(place);
    }
    auto done = std::async(std::launch::async, event);
    const auto is_done = [&] { return done.wait_for(Micros{0}) == std::future_status::ready; };
    RunUntil(is_done);
    asking_ = false;
    RunUntil([this] { return under_way_ == 0; });
    done.get();
  }

  /// For events: returns once so many more calls were allowed.
  void AwaitAllowed(std::int64_t more) const {
    const std::int64_t goal = allowed_.load() + more;
    redis::testing::Await("calls are allowed", [&] { return allowed_.load() >= goal; });
  }

  /// How much of the budget is used, as Redis has it.
  std::int64_t Used(const Budget& budget) {
    Inspection inspection;
    KeyUse use = UseOf(budget);
    use.inspection = &inspection;
    StoreCall call{.operation = Operation::kInspect, .uses = {&use, 1}};
    store_.Submit(call);
    RunUntil([&] { return !call.pending; });
    return call.ok ? budget.limit->cap() - inspection.level : -1;
  }

  [[nodiscard]] const std::deque<Budget>& budgets() const { return budgets_; }
  [[nodiscard]] std::int64_t allowed() const { return allowed_.load(); }
  [[nodiscard]] const std::map<ErrorCode, std::int64_t>& errors() const { return errors_; }
  /// The longest that a call took.
  [[nodiscard]] Micros worst() const { return worst_; }
  [[nodiscard]] redis::Service& service() { return *service_; }
  [[nodiscard]] RedisStore& store() { return store_; }

 private:
  struct Place {
    Load* load = nullptr;
    const std::vector<Budget*>* question = nullptr;
    std::vector<KeyUse> uses{};
    StoreCall call{};
    SteadyTime asked_at{};
  };

  static KeyUse UseOf(const Budget& budget) {
    KeyUse use;
    use.key = {.scope = budget.scope, .tag = budget.tag, .rest = {}};
    use.limit = budget.limit;
    return use;
  }

  void AskNext(Place& place) {
    place.question = &questions_[next_++ % questions_.size()];
    place.uses.clear();
    for (const Budget* budget : *place.question) place.uses.push_back(UseOf(*budget));
    place.asked_at = SteadyClock::Now();
    place.call = {.uses = place.uses};
    place.call.context = &place;
    place.call.on_done = [](StoreCall& /*call*/, void* context) {
      auto& answered = *static_cast<Place*>(context);
      answered.load->OnDone(answered);
    };
    ++under_way_;
    store_.Submit(place.call);
  }

  void OnDone(Place& place) {
    worst_ = std::max(worst_, SteadyClock::Now() - place.asked_at);
    if (!place.call.ok) {
      ++errors_[place.call.error];
    } else if (place.call.allowed) {
      for (Budget* budget : *place.question) ++budget->taken;
      allowed_.fetch_add(1);
    }
    // Not in this turn: who fails at once would be asked for ever.
    loop_.Post([this, &place] {
      --under_way_;
      if (asking_) AskNext(place);
    });
  }

  void RunUntil(const std::function<bool()>& done) {
    if (!loop_.RunUntil(done, SteadyClock::Now() + std::chrono::seconds(60))) {
      throw std::runtime_error("the load hangs");
    }
  }

  net::Loop& loop_;
  std::unique_ptr<redis::Service> service_;
  std::deque<Budget> budgets_;
  std::deque<std::vector<Budget*>> questions_;
  RedisStore store_;
  std::vector<Place> places_;
  std::size_t next_ = 0;
  std::size_t under_way_ = 0;
  bool asking_ = false;
  std::atomic<std::int64_t> allowed_{0};
  std::map<ErrorCode, std::int64_t> errors_;
  Micros worst_{};
};

}  // namespace sluice::store::testing
