#include "net/readiness.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "net/loop.h"
#include "net/timer.h"

namespace sluice::net {
namespace {

using std::chrono::milliseconds;

SteadyTime SoonReady() { return SteadyClock::Now() + std::chrono::seconds(10); }

// A descriptor that can be made ready, and what happens then.
class Bell final : public Watcher {
 public:
  Bell(Loop& loop, std::uint32_t events, std::function<void()> action)
      : loop_(loop), action_(std::move(action)) {
    loop_.Watch(fd_.get(), events, *this);
  }
  ~Bell() { loop_.Unwatch(fd_.get(), *this); }
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;

  void Ring() { eventfd_write(fd_.get(), 1); }
  void Silence() {
    eventfd_t ignored = 0;
    eventfd_read(fd_.get(), &ignored);
  }
  void Change(std::uint32_t events) { loop_.ChangeWatch(fd_.get(), events, *this); }
  [[nodiscard]] int heard() const { return heard_; }

 private:
  void OnReady(std::uint32_t /*events*/) override {
    ++heard_;
    if (action_) action_();
  }

  Loop& loop_;
  std::function<void()> action_;
  Fd fd_{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  int heard_ = 0;
};

TEST(WatchTest, AReadyDescriptorWakesTheLoop) {
  LoopThread thread;
  std::unique_ptr<Bell> bell;
  std::atomic<int> heard = 0;
  thread.Do([&] {
    bell = std::make_unique<Bell>(thread.loop(), EPOLLIN, [&] {
      bell->Silence();
      ++heard;
    });
  });
  for (int i = 1; i <= 100; ++i) {
    bell->Ring();
    while (heard != i) std::this_thread::yield();
  }
  thread.Do([&] { bell.reset(); });
}

TEST(WatchTest, TimersAndPostsRunWhileDescriptorsKeepTheLoopBusy) {
  Loop loop;
  Bell bell(loop, EPOLLIN, {});
  bell.Ring();  // And rings on.
  bool posted = false;
  bool timed = false;
  bool ended = false;
  Timer timer(loop, [&] { timed = true; });
  TurnEnd end(loop, [&] { ended = true; });
  timer.Set(SteadyClock::Now() + milliseconds(2));
  end.Schedule();
  loop.Post([&] { posted = true; });
  EXPECT_TRUE(loop.RunUntil([&] { return posted && timed && ended; }, SoonReady()));
  EXPECT_GT(bell.heard(), 1);
}

TEST(WatchTest, EdgesAreReportedOnce) {
  Loop loop;
  Bell bell(loop, EPOLLIN | EPOLLET, {});
  bell.Ring();
  EXPECT_TRUE(loop.RunUntil([&] { return bell.heard() == 1; }, SoonReady()));
  EXPECT_FALSE(
      loop.RunUntil([&] { return bell.heard() == 2; }, SteadyClock::Now() + milliseconds(5)));
  bell.Change(EPOLLIN | EPOLLET);  // Looks again.
  EXPECT_TRUE(loop.RunUntil([&] { return bell.heard() == 2; }, SoonReady()));
}

TEST(WatchTest, OneMayUnwatchAnotherThatIsReadyInTheSameTurn) {
  Loop loop;
  std::unique_ptr<Bell> first;
  std::unique_ptr<Bell> second;
  int heard = 0;
  first = std::make_unique<Bell>(loop, EPOLLIN, [&] {
    ++heard;
    second.reset();
    first->Silence();
  });
  second = std::make_unique<Bell>(loop, EPOLLIN, [&] {
    ++heard;
    first.reset();
    second->Silence();
  });
  first->Ring();
  second->Ring();
  EXPECT_TRUE(loop.RunUntil([&] { return heard > 0; }, SoonReady()));
  EXPECT_EQ(heard, 1);
}

TEST(WatchTest, AWatcherMayUnwatchItself) {
  Loop loop;
  std::unique_ptr<Bell> bell;
  bell = std::make_unique<Bell>(loop, EPOLLIN, [&] { loop.Post([&] { bell.reset(); }); });
  bell->Ring();
  EXPECT_TRUE(loop.RunUntil([&] { return bell == nullptr; }, SoonReady()));
}

TEST(WatchTest, TheFirstDescriptorIsWatchedEvenIfItWasTheLastOfTheProcess) {
  {  // UBSan checks the first object of a type through a pipe, for which there would be no
     // descriptor.
    Loop other;
    Bell bell(other, EPOLLIN | EPOLLET, {});
    bell.Ring();
    EXPECT_TRUE(other.RunUntil([&] { return bell.heard() > 0; }, SoonReady()));
  }
  Loop loop;
  rlimit usual{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &usual), 0);
  rlimit low = usual;
  low.rlim_cur = 128;
  std::vector<Fd> others;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  for (Fd fd(dup(0)); fd; fd = Fd(dup(0))) others.push_back(std::move(fd));
  ASSERT_FALSE(others.empty());
  others.pop_back();
  {
    Bell bell(loop, EPOLLIN | EPOLLET, {});
    bell.Ring();
    EXPECT_TRUE(loop.RunUntil([&] { return bell.heard() > 0; }, SoonReady()));
  }
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &usual), 0);
}

TEST(WatchTest, MoreDescriptorsThanFitIntoOnePollAreAllReported) {
  Loop loop;
  constexpr int kBells = 600;
  int heard = 0;
  std::vector<std::unique_ptr<Bell>> bells;
  for (int i = 0; i < kBells; ++i) {
    bells.push_back(std::make_unique<Bell>(loop, EPOLLIN | EPOLLET, [&] { ++heard; }));
    bells.back()->Ring();
  }
  EXPECT_TRUE(loop.RunUntil([&] { return heard == kBells; }, SoonReady()));
}

}  // namespace
}  // namespace sluice::net
