#include "net/signals.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/loops.h"

namespace sluice::net {
namespace {

constexpr int kAsExpected = 42;

SteadyTime SoonSignaled() { return SteadyClock::Now() + std::chrono::seconds(20); }

[[noreturn]] void Exit(bool as_expected) { std::_Exit(as_expected ? kAsExpected : 1); }

class SignalsDeathTest : public ::testing::Test {
 protected:
  SignalsDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

void EndOn(int signal) {
  Loop loop;
  const Loops others(2);  // Which may catch the signal as well as we.
  int ended = 0;
  const Signals signals(loop, {.on_end = [&] { ++ended; }, .on_reload = [] { Exit(false); }});
  kill(getpid(), signal);
  Exit(loop.RunUntil([&] { return ended == 1; }, SoonSignaled()));
}

TEST_F(SignalsDeathTest, SigtermAndSigintRequestShutdown) {
  EXPECT_EXIT(EndOn(SIGTERM), ::testing::ExitedWithCode(kAsExpected), "");
  EXPECT_EXIT(EndOn(SIGINT), ::testing::ExitedWithCode(kAsExpected), "");
}

// The loop does not run any more: it is of no use against one that is stuck.
void EndTwiceOn(int first, int second) {
  Loop loop;
  bool ending = false;
  const Signals signals(loop, {.on_end = [&] { ending = true; }, .on_reload = {}});
  kill(getpid(), first);
  if (!loop.RunUntil([&] { return ending; }, SoonSignaled())) Exit(false);
  kill(getpid(), second);
  std::this_thread::sleep_for(std::chrono::seconds(20));
  Exit(false);
}

TEST_F(SignalsDeathTest, ASecondSignalTerminatesTheProcess) {
  EXPECT_EXIT(EndTwiceOn(SIGTERM, SIGTERM), ::testing::KilledBySignal(SIGTERM), "");
  EXPECT_EXIT(EndTwiceOn(SIGTERM, SIGINT), ::testing::KilledBySignal(SIGINT), "");
}

void ReloadOnSighup() {
  Loop loop;
  int reloads = 0;
  const Signals signals(loop, {.on_end = [] { Exit(false); }, .on_reload = [&] { ++reloads; }});
  for (int i = 1; i <= 3; ++i) {
    kill(getpid(), SIGHUP);
    if (!loop.RunUntil([&] { return reloads == i; }, SoonSignaled())) Exit(false);
  }
  Exit(true);
}

TEST_F(SignalsDeathTest, SighupAsksForAReloadEachTime) {
  EXPECT_EXIT(ReloadOnSighup(), ::testing::ExitedWithCode(kAsExpected), "");
}

void WriteToAClosedPipe() {
  Loop loop;
  const Signals signals(loop, {});
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) Exit(false);
  close(pipe_ends[0]);
  Exit(write(pipe_ends[1], "x", 1) < 0);
}

TEST_F(SignalsDeathTest, SigpipeIsIgnored) {
  EXPECT_EXIT(WriteToAClosedPipe(), ::testing::ExitedWithCode(kAsExpected), "");
}

void EndAfterSignals() {
  Loop loop;
  {
    const Signals signals(loop, {});
  }
  kill(getpid(), SIGTERM);
  std::this_thread::sleep_for(std::chrono::seconds(20));
  Exit(false);
}

TEST_F(SignalsDeathTest, TheDestructorRestoresTheHandlers) {
  EXPECT_EXIT(EndAfterSignals(), ::testing::KilledBySignal(SIGTERM), "");
}

TEST(FileLimitTest, ItIsRaisedToWhatIsAllowed) {
  const std::size_t limit = RaiseFileLimit();
  EXPECT_GT(limit, 0U);
  EXPECT_EQ(RaiseFileLimit(), limit);
}

}  // namespace
}  // namespace sluice::net
