#include "lease/testing/simulation.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <string>
#include <unordered_map>

#include "algo/lease.h"
#include "algo/state.h"
#include "lease/lease_table.h"

namespace sluice::lease::testing {
namespace {

using algo::lease::Grant;
using algo::lease::Ledger;
using algo::lease::Request;

constexpr WallTime kBegin{std::chrono::hours(24 * 365 * 50)};
constexpr Micros kTimeout = std::chrono::milliseconds(50);
constexpr Micros kSweepEvery = std::chrono::milliseconds(5);

enum class Kind : std::uint8_t {
  kCall,
  kFetch,
  kCheck,
  kReturn,
  kGrant,
  kRecall,
  kGiveUp,
  kSweep,
  kCrash
};

/// Something that happens at a node or at the store.
struct Event {
  WallTime at{};
  std::uint64_t order = 0;  ///< Of those at one moment, the earlier made comes first.
  Kind kind{};
  std::uint32_t node = 0;
  std::uint32_t key = 0;
  std::uint32_t life = 0;    ///< Of the node, when it sent this.
  std::uint64_t number = 0;  ///< Of the request.
  std::int64_t cost = 0;
  SteadyTime sent{};
  std::shared_ptr<const Request> request{};
  std::shared_ptr<const Grant> grant{};

  friend bool operator<(const Event& a, const Event& b) {
    return a.at != b.at ? a.at > b.at : a.order > b.order;
  }
};

/// A key's budget as algo keeps it.
class Counter {
 public:
  explicit Counter(const Limit& limit) : state(algo::Fresh(limit.numbers(), kBegin)) {}

  bool Take(const LimitNumbers& limit, WallTime now, std::int64_t cost) {
    algo::Advance(limit, now, state);
    const bool fits = algo::Left(limit, now, state) >= cost;
    if (fits) algo::Take(limit, state, cost, 0);
    return fits;
  }

  algo::State state;
};

struct StoredKey {
  explicit StoredKey(const Limit& its_limit)
      : limit(its_limit), stored(its_limit), judge(its_limit), one_counter(its_limit) {}

  Limit limit;
  Counter stored;
  Ledger ledger;
  Counter judge;        ///< Counts all that is admitted, when it is.
  Counter one_counter;  ///< Decides the same calls, all by itself.
  std::uint64_t admitted = 0;
  std::uint64_t expected = 0;
  bool hot = false;
  std::string name;
};

struct Waiting {
  std::deque<std::int64_t> costs;
  std::uint64_t number = 0;  ///< Of the request that they wait for.
  std::size_t asked = 0;     ///< How many of them it is for; the others came later.
};

struct Node {
  std::unique_ptr<denial::DenialTable> denials;
  std::unique_ptr<LeaseTable> table;
  std::uint32_t life = 0;
  double speed = 1;
  Micros offset{0};
  std::unordered_map<std::uint32_t, Waiting> waiting;           ///< By key.
  std::unordered_map<std::uint64_t, std::uint32_t> unanswered;  ///< Requests, and their keys.
};

class World {
 public:
  explicit World(const Setting& setting);
  Result Run();

 private:
  void Schedule(Event event, Micros after) {
    event.at = now_ + after;
    event.order = ++order_;
    events_.push(std::move(event));
  }
  /// Over the wire: late, perhaps lost.
  void Send(Event event) {
    if (Chance(setting_.loss)) return;
    Schedule(std::move(event), Chance(setting_.slow_share)
                                   ? setting_.slow_delay
                                   : Between(setting_.shortest_delay, setting_.longest_delay));
  }
  bool Chance(double p) { return p > 0 && std::uniform_real_distribution<>(0, 1)(random_) < p; }
  Micros Between(Micros low, Micros high) {
    return Micros{std::uniform_int_distribution<std::int64_t>(low.count(), high.count())(random_)};
  }

  SteadyTime ClockOf(const Node& node) const {
    const double elapsed = static_cast<double>((now_ - kBegin).count()) * node.speed;
    return SteadyTime{node.offset + Micros{static_cast<std::int64_t>(elapsed)}};
  }
  Key KeyOf(std::uint32_t key) const { return {.scope = "rule:limit", .tag = keys_[key].name}; }
  LeaseTable::Sink Returns(std::uint32_t node);

  void NextCall(std::uint32_t key);
  void Arrive(std::uint32_t key);
  void Decide(std::uint32_t node, std::uint32_t key, std::int64_t cost);
  void Check(std::uint32_t node, std::uint32_t key, std::int64_t cost);
  void Fetch(std::uint32_t node, std::uint32_t key, std::int64_t waiting, std::int64_t least,
             Waiting* who);
  void FetchFor(std::uint32_t node, std::uint32_t key, Waiting& waiting);
  void Admit(std::uint32_t key, std::int64_t cost);
  void CountStoreCall(std::uint32_t key);
  void Handle(const Event& event);
  void AtStore(const Event& event);
  void TakeGrant(const Event& event);
  void ServeWaiting(std::uint32_t node, std::uint32_t key, Waiting& waiting);
  void GiveUp(const Event& event);
  void Crash(std::uint32_t node);
  void CountFromHereOn();
  void Start(Node& node);

  const Setting& setting_;
  std::mt19937_64 random_;
  WallTime now_ = kBegin;
  std::uint64_t order_ = 0;
  std::uint64_t numbers_ = 0;
  std::priority_queue<Event> events_;
  std::vector<StoredKey> keys_;
  std::vector<Node> nodes_;
  Result result_;
};

World::World(const Setting& setting)
    : setting_(setting), random_(setting.seed), nodes_(setting.nodes) {
  const std::int64_t smallest =
      std::max(algo::lease::kSmallestLeased, 4 * static_cast<std::int64_t>(setting.nodes));
  for (std::uint32_t key = 0; key < setting.limits.size(); ++key) {
    StoredKey& stored = keys_.emplace_back(setting.limits[key]);
    stored.name = std::to_string(key);
    stored.hot = setting.load[key] / static_cast<double>(setting.nodes) >= 100 &&
                 stored.limit.cap() >= smallest;
    if (setting.load[key] > 0) NextCall(key);
  }
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
    Start(nodes_[node]);
    Schedule({.kind = Kind::kSweep, .node = node}, Between(Micros{0}, kSweepEvery));
  }
  if (setting.crashes_per_second > 0) Schedule({.kind = Kind::kCrash}, Micros{0});
}

void World::Start(Node& node) {
  node.table.reset();  // It refers to the denials.
  node.denials = std::make_unique<denial::DenialTable>();
  node.table =
      std::make_unique<LeaseTable>(TableOptions{.max_keys = keys_.size() + 64,
                                                .nodes = static_cast<std::int64_t>(setting_.nodes)},
                                   *node.denials);
  node.speed = 1 + setting_.clock_error * std::uniform_real_distribution<>(-1, 1)(random_);
  node.offset = Between(std::chrono::seconds(1), std::chrono::hours(1000));
  ++node.life;
}

void World::NextCall(std::uint32_t key) {
  const double seconds = std::exponential_distribution<>(setting_.load[key])(random_);
  Schedule({.kind = Kind::kCall, .key = key}, Micros{static_cast<std::int64_t>(seconds * 1e6)});
}

void World::Arrive(std::uint32_t key) {
  std::uint32_t node = 0;
  if (setting_.jump_after > Micros{0}) {
    const auto turn = static_cast<std::uint64_t>((now_ - kBegin) / setting_.jump_after);
    node = static_cast<std::uint32_t>((turn + key) % nodes_.size());
  } else {
    node = static_cast<std::uint32_t>(random_() % nodes_.size());
  }
  const std::int64_t cost =
      setting_.largest_cost == 1
          ? 1
          : 1 + static_cast<std::int64_t>(random_() %
                                          static_cast<std::uint64_t>(setting_.largest_cost));
  StoredKey& stored = keys_[key];
  ++result_.calls;
  result_.asked += static_cast<std::uint64_t>(cost);
  if (stored.hot) ++result_.hot_calls;
  if (stored.one_counter.Take(stored.limit.numbers(), now_, cost)) {
    stored.expected += static_cast<std::uint64_t>(cost);
  }
  Decide(node, key, cost);
}

void World::CountStoreCall(std::uint32_t key) {
  ++result_.store_calls;
  if (keys_[key].hot) ++result_.hot_store_calls;
}

void World::Admit(std::uint32_t key, std::int64_t cost) {
  StoredKey& stored = keys_[key];
  stored.admitted += static_cast<std::uint64_t>(cost);
  result_.allowed += static_cast<std::uint64_t>(cost);
  if (!stored.judge.Take(stored.limit.numbers(), now_, cost)) {
    result_.over += static_cast<std::uint64_t>(cost);
  }
}

void World::Decide(std::uint32_t node_index, std::uint32_t key, std::int64_t cost) {
  Node& node = nodes_[node_index];
  const SteadyTime now = ClockOf(node);
  const SpendResult spent =
      setting_.exact ? SpendResult{} : node.table->Spend(KeyOf(key), keys_[key].limit, cost, now);
  if (spent.fetch_ahead) Fetch(node_index, key, 0, 1, nullptr);
  switch (spent.decision) {
    case LeaseDecision::kAllowed:
      return Admit(key, cost);
    case LeaseDecision::kDenied:
      return;
    case LeaseDecision::kNeedsLease: {
      Waiting& waiting = node.waiting[key];
      waiting.costs.push_back(cost);
      if (waiting.number == 0) FetchFor(node_index, key, waiting);
      return;
    }
    case LeaseDecision::kExact:
      return Check(node_index, key, cost);
  }
}

void World::Check(std::uint32_t node, std::uint32_t key, std::int64_t cost) {
  CountStoreCall(key);
  Send({.kind = Kind::kCheck, .node = node, .key = key, .life = nodes_[node].life, .cost = cost});
}

void World::FetchFor(std::uint32_t node, std::uint32_t key, Waiting& waiting) {
  std::int64_t sum = 0;
  for (const std::int64_t cost : waiting.costs) sum += cost;
  waiting.asked = waiting.costs.size();
  Fetch(node, key, sum, *std::min_element(waiting.costs.begin(), waiting.costs.end()), &waiting);
}

void World::Fetch(std::uint32_t node_index, std::uint32_t key, std::int64_t waiting,
                  std::int64_t least, Waiting* who) {
  Node& node = nodes_[node_index];
  const SteadyTime now = ClockOf(node);
  Event event{.kind = Kind::kFetch, .node = node_index, .key = key, .life = node.life};
  event.number = ++numbers_;
  event.sent = now;
  event.request = std::make_shared<Request>(
      node.table->MakeRequest(KeyOf(key), keys_[key].limit, waiting, least, now));
  if (who != nullptr) who->number = event.number;
  node.unanswered[event.number] = key;
  CountStoreCall(key);
  Event give_up{.kind = Kind::kGiveUp, .node = node_index, .key = key, .life = node.life};
  give_up.number = event.number;
  Send(std::move(event));
  Schedule(std::move(give_up), kTimeout);
}

LeaseTable::Sink World::Returns(std::uint32_t node_index) {
  return [this, node_index](const Key& key, const Limit& /*limit*/, const Request& request) {
    const auto index = static_cast<std::uint32_t>(std::stoul(std::string(key.tag)));
    CountStoreCall(index);
    Event event{.kind = Kind::kReturn, .node = node_index, .key = index};
    event.request = std::make_shared<Request>(request);
    Send(std::move(event));
  };
}

void World::AtStore(const Event& event) {
  StoredKey& key = keys_[event.key];
  const LimitNumbers& limit = key.limit.numbers();
  algo::State& state = key.stored.state;
  algo::lease::Advance(limit, now_, state, key.ledger);
  if (event.kind == Kind::kReturn) {
    for (const algo::lease::Report& report : event.request->reports) {
      algo::lease::ApplyReport(limit, state, key.ledger, report);
    }
  } else if (event.kind == Kind::kCheck) {
    const bool fits = algo::Left(limit, now_, state) >= event.cost;
    if (fits) {
      algo::Take(limit, state, event.cost, 0);
      Admit(event.key, event.cost);
    }
  } else {
    Event answer = event;
    answer.kind = Kind::kGrant;
    const Grant grant = algo::lease::Fetch(limit, now_, state, key.ledger, *event.request);
    if (grant.exact && grant.tokens > 0) Admit(event.key, grant.tokens);
    answer.grant = std::make_shared<Grant>(grant);
    Send(std::move(answer));
    for (std::uint32_t other = 0; grant.recall && other < nodes_.size(); ++other) {
      if (other != event.node) Send({.kind = Kind::kRecall, .node = other, .key = event.key});
    }
  }
}

void World::TakeGrant(const Event& event) {
  Node& node = nodes_[event.node];
  if (node.life != event.life || node.unanswered.erase(event.number) == 0) return;
  node.table->Granted(KeyOf(event.key), keys_[event.key].limit, *event.request, event.sent,
                      ClockOf(node), *event.grant);
  const auto found = node.waiting.find(event.key);
  if (found == node.waiting.end() || found->second.number != event.number) return;
  Waiting waiting = std::move(found->second);
  node.waiting.erase(found);
  if (event.grant->exact) {
    // Of those it was asked for, the store admitted whom it could.
    waiting.costs.erase(waiting.costs.begin(),
                        waiting.costs.begin() + static_cast<std::ptrdiff_t>(waiting.asked));
    waiting.asked = 0;
  }
  ServeWaiting(event.node, event.key, waiting);
}

void World::ServeWaiting(std::uint32_t node_index, std::uint32_t key, Waiting& waiting) {
  Node& node = nodes_[node_index];
  Waiting again;
  for (std::size_t i = 0; i < waiting.costs.size(); ++i) {
    const std::int64_t cost = waiting.costs[i];
    const SpendAttempt attempt = i < waiting.asked ? SpendAttempt::kAnswered : SpendAttempt::kAgain;
    const SpendResult spent =
        node.table->Spend(KeyOf(key), keys_[key].limit, cost, ClockOf(node), attempt);
    if (spent.decision == LeaseDecision::kAllowed) Admit(key, cost);
    if (spent.decision == LeaseDecision::kNeedsLease) again.costs.push_back(cost);
    if (spent.decision == LeaseDecision::kExact) Check(node_index, key, cost);
  }
  if (again.costs.empty()) return;
  Waiting& place = node.waiting[key] = std::move(again);
  FetchFor(node_index, key, place);
}

void World::GiveUp(const Event& event) {
  Node& node = nodes_[event.node];
  if (node.life != event.life || node.unanswered.erase(event.number) == 0) return;
  node.table->Unanswered(KeyOf(event.key), ClockOf(node));
  const auto found = node.waiting.find(event.key);
  if (found != node.waiting.end() && found->second.number == event.number)
    node.waiting.erase(found);
}

void World::Crash(std::uint32_t node_index) {
  Node& node = nodes_[node_index];
  node.waiting.clear();
  node.unanswered.clear();
  Start(node);
  ++result_.crashes;
}

void World::Handle(const Event& event) {
  switch (event.kind) {
    case Kind::kCall: {
      const bool bursts = setting_.burst_every > Micros{0};
      const std::int64_t count = bursts ? keys_[event.key].limit.cap() : 1;
      for (std::int64_t i = 0; i < count; ++i) Arrive(event.key);
      if (!bursts) return NextCall(event.key);
      return Schedule(event, setting_.burst_every);
    }
    case Kind::kFetch:
    case Kind::kCheck:
    case Kind::kReturn:
      return AtStore(event);
    case Kind::kGrant:
      return TakeGrant(event);
    case Kind::kRecall:
      return nodes_[event.node].table->Recall(KeyOf(event.key), ClockOf(nodes_[event.node]),
                                              Returns(event.node));
    case Kind::kGiveUp:
      return GiveUp(event);
    case Kind::kSweep:
      nodes_[event.node].table->Sweep(ClockOf(nodes_[event.node]), Returns(event.node));
      return Schedule(event, kSweepEvery);
    case Kind::kCrash: {
      if (now_ > kBegin) Crash(static_cast<std::uint32_t>(random_() % nodes_.size()));
      const double seconds = std::exponential_distribution<>(setting_.crashes_per_second)(random_);
      return Schedule(event, Micros{static_cast<std::int64_t>(seconds * 1e6) + 1});
    }
  }
}

void World::CountFromHereOn() {
  Result fresh;
  fresh.over = result_.over;
  result_ = fresh;
  for (StoredKey& key : keys_) key.admitted = key.expected = 0;
}

Result World::Run() {
  const WallTime end = kBegin + setting_.duration;
  bool warm = setting_.warm_up == Micros{0};
  while (!events_.empty() && events_.top().at <= end) {
    const Event event = events_.top();
    events_.pop();
    now_ = event.at;
    if (!warm && now_ >= kBegin + setting_.warm_up) {
      warm = true;
      CountFromHereOn();
    }
    Handle(event);
  }
  for (const StoredKey& key : keys_) {
    if (key.expected > key.admitted) result_.deficit += key.expected - key.admitted;
  }
  for (const Node& node : nodes_) result_.tables += node.table->StatsApprox();
  return result_;
}

}  // namespace

Result Simulate(const Setting& setting) { return World(setting).Run(); }

std::vector<double> ZipfLoad(std::size_t keys, double calls_per_second) {
  double sum = 0;
  for (std::size_t rank = 1; rank <= keys; ++rank) sum += 1 / static_cast<double>(rank);
  std::vector<double> load;
  for (std::size_t rank = 1; rank <= keys; ++rank) {
    load.push_back(calls_per_second / sum / static_cast<double>(rank));
  }
  return load;
}

}  // namespace sluice::lease::testing
