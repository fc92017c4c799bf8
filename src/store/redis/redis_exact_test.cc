#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "redis/service.h"
#include "redis/testing/redis_cluster.h"
#include "store/redis/testing/store_fixture.h"

// Several processes, one Redis: what all of them together were allowed is the limit, exactly.
namespace sluice::store::testing {
namespace {

constexpr int kProcesses = 4;
constexpr std::size_t kInFlight = 400;
constexpr std::size_t kMostKeys = 256;

// What the processes tell each other and the test.
struct Shared {
  std::atomic<int> ready{0};
  std::atomic<std::int64_t> errors{0};
  std::atomic<std::int64_t> calls{0};
  std::array<std::atomic<std::int64_t>, kMostKeys> allowed{};  ///< By the call's first key.
};

class SharedMemory {
 public:
  SharedMemory()
      : shared_(new(mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Shared) {}
  ~SharedMemory() { munmap(shared_, sizeof(Shared)); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  Shared* operator->() { return shared_; }
  Shared& operator*() { return *shared_; }

 private:
  Shared* shared_;
};

// One kind of call, by the keys that it is about.
struct Question {
  std::vector<std::string> names;
  std::vector<const Limit*> limits;
  std::size_t counter = 0;  ///< Of Shared::allowed.
};

// Asks every question `rounds` times, kInFlight calls at a time.
class Worker {
 public:
  Worker(const redis::Options& options, Shared& shared, const std::vector<Question>& questions,
         std::size_t rounds, Micros clock_error)
      : shared_(shared),
        questions_(questions),
        total_(questions.size() * rounds),
        clock_error_(clock_error),
        service_(redis::MakeService(loop_, options)),
        store_(loop_, *service_, {.deadline = seconds(60)}),
        places_(std::min(kInFlight, total_)) {}
  ~Worker() { service_->Close(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Whether all was answered.
  bool Run(int index) {
    service_->Connect();
    const auto ready = [this] { return service_->state() == redis::State::kReady; };
    if (!loop_.RunUntil(ready, SteadyClock::Now() + seconds(20))) return false;
    next_question_ = static_cast<std::size_t>(index) * 7;  // Not all on one key at one time.
    shared_.ready.fetch_add(1);
    while (shared_.ready.load() < kProcesses) std::this_thread::yield();
    for (Place& place : places_) {
      place.worker = this;
      AskNext(place);
    }
    return loop_.RunUntil([this] { return done_ == total_; }, SteadyClock::Now() + seconds(60));
  }

 private:
  struct Place {
    Worker* worker = nullptr;
    const Question* question = nullptr;
    std::vector<KeyUse> uses{};
    StoreCall call{};
  };

  void AskNext(Place& place) {
    if (asked_ == total_) return;
    ++asked_;
    place.question = &questions_[next_question_++ % questions_.size()];
    place.uses.clear();
    for (std::size_t i = 0; i < place.question->names.size(); ++i) {
      KeyUse& use = place.uses.emplace_back();
      use.key = {.scope = kScope, .tag = place.question->names[i], .rest = {}};
      use.limit = place.question->limits[i];
    }
    place.call = {};
    place.call.uses = place.uses;
    place.call.now = TheSystemClock().Now() + clock_error_;
    place.call.context = &place;
    place.call.on_done = [](StoreCall& call, void* context) {
      auto& answered = *static_cast<Place*>(context);
      answered.worker->OnDone(call, answered);
    };
    if (store_.Submit(place.call) == Completion::kNow) shared_.errors.fetch_add(1);
  }

  void OnDone(const StoreCall& call, Place& place) {
    ++done_;
    shared_.calls.fetch_add(1);
    if (!call.ok) shared_.errors.fetch_add(1);
    if (call.ok && call.allowed) shared_.allowed[place.question->counter].fetch_add(1);
    AskNext(place);
  }

  Shared& shared_;
  const std::vector<Question>& questions_;
  const std::size_t total_;
  const Micros clock_error_;
  net::Loop loop_;
  std::unique_ptr<redis::Service> service_;
  RedisStore store_;
  std::vector<Place> places_;
  std::size_t next_question_ = 0;
  std::size_t asked_ = 0;
  std::size_t done_ = 0;
};

// Asks from several processes at once; one of them has a clock that is an hour off.
void AskFromAllProcesses(const redis::Options& options, Shared& shared,
                         const std::vector<Question>& questions, std::size_t rounds) {
  const pid_t parent = getpid();
  std::vector<pid_t> children;
  for (int index = 0; index < kProcesses; ++index) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(2);
      const Micros clock_error = index == 0 ? Micros(std::chrono::hours(1)) : Micros{0};
      bool ok = false;
      {
        Worker worker(options, shared, questions, rounds, clock_error);
        ok = worker.Run(index);
      }
      _exit(ok ? 0 : 1);  // Nothing of the parent's ends here.
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
  }
  EXPECT_EQ(shared.errors.load(), 0);
  EXPECT_EQ(shared.calls.load(), static_cast<std::int64_t>(questions.size() * rounds * kProcesses));
}

std::int64_t UsedInRedis(const redis::Options& options, const Limit& limit,
                         const std::string& name) {
  net::Loop loop;
  Asker asker(loop, options);
  return asker.Used(limit, name);
}

// Limits of which nothing comes back while the test runs.
Limit LimitOf(Algorithm algorithm, std::int64_t cap) {
  switch (algorithm) {
    case Algorithm::kTokenBucket:
      return SlowBucket(cap);
    case Algorithm::kLeakyBucket:
      return *Limit::LeakyBucket({.capacity = cap, .leak = Rate::PerDay(1)});
    case Algorithm::kFixedWindow:
      return *Limit::FixedWindow({.limit = cap, .window = kMaxWindow});  // Until 2069.
    case Algorithm::kSlidingWindowLog:
      return *Limit::SlidingWindowLog({.limit = cap, .window = kMaxWindow});
    case Algorithm::kSlidingWindowCounter:
      return *Limit::SlidingWindowCounter({.limit = cap, .window = kMaxWindow});
    case Algorithm::kConcurrency:
      return *Limit::Concurrency({.limit = cap, .time_to_live = std::chrono::hours(24)});
  }
  std::abort();
}

// So many keys of one limit, each asked for more often than it allows.
void ExpectExactly(const redis::Options& options, const Limit& limit, std::size_t keys,
                   std::size_t rounds) {
  SharedMemory shared;
  std::vector<Question> questions;
  for (std::size_t i = 0; i < keys; ++i) {
    questions.push_back({{"key" + std::to_string(i)}, {&limit}, i});
  }
  AskFromAllProcesses(options, *shared, questions, rounds);
  for (const Question& question : questions) {
    EXPECT_EQ(shared->allowed[question.counter].load(), limit.cap()) << question.names[0];
    EXPECT_EQ(UsedInRedis(options, limit, question.names[0]), limit.cap()) << question.names[0];
  }
}

class ExactAcrossProcesses : public ::testing::TestWithParam<Algorithm> {
 protected:
  redis::testing::RedisServer server_;
  const redis::Options options_ = server_.ClientOptions();
  SharedMemory shared_;
};

TEST_P(ExactAcrossProcesses, FewKeysAllowTheLimitAndNotOneMore) {
  ExpectExactly(options_, LimitOf(GetParam(), 1000), 3, 600);
}

TEST_P(ExactAcrossProcesses, ManyKeysAllowTheLimitAndNotOneMore) {
  ExpectExactly(options_, LimitOf(GetParam(), 21), 200, 12);
}

TEST_P(ExactAcrossProcesses, CallsWithTwoLimitsTakeFromBothOrNeither) {
  // Ten keys of 50 share 300: in either order, the calls that pass are 300.
  const Limit own = LimitOf(GetParam(), 50);
  const Limit common = LimitOf(GetParam(), 300);
  std::vector<Question> questions;
  for (std::size_t i = 0; i < 10; ++i) {
    const std::string name = "own" + std::to_string(i);
    questions.push_back({{name, "common"}, {&own, &common}, i});
    questions.push_back({{"common", name}, {&common, &own}, i});
  }
  AskFromAllProcesses(options_, *shared_, questions, 20);
  std::int64_t total = 0;
  for (std::size_t i = 0; i < 10; ++i) {
    const std::int64_t allowed = shared_->allowed[i].load();
    EXPECT_LE(allowed, 50);
    EXPECT_EQ(UsedInRedis(options_, own, "own" + std::to_string(i)), allowed);
    total += allowed;
  }
  EXPECT_EQ(total, 300);
  EXPECT_EQ(UsedInRedis(options_, common, "common"), 300);
}

INSTANTIATE_TEST_SUITE_P(All, ExactAcrossProcesses,
                         ::testing::Values(Algorithm::kTokenBucket, Algorithm::kLeakyBucket,
                                           Algorithm::kFixedWindow, Algorithm::kSlidingWindowLog,
                                           Algorithm::kSlidingWindowCounter,
                                           Algorithm::kConcurrency),
                         [](const auto& test) { return std::string(AlgorithmName(test.param)); });

TEST(ExactOnAClusterTest, AllProcessesTogetherAreAllowedTheLimitAndNotOneMore) {
  const redis::testing::RedisCluster cluster(redis::testing::RedisCluster::Replicas::kNone);
  ExpectExactly(cluster.ClientOptions(), SlowBucket(300), 60, 150);
}

}  // namespace
}  // namespace sluice::store::testing
