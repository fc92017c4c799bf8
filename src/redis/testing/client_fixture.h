#pragma once

#include <deque>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "net/loop.h"
#include "redis/client.h"
#include "redis/testing/redis_server.h"
#include "resp/encoder.h"

namespace sluice::redis::testing {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// What became of a call.
struct Outcome {
  int times = 0;  ///< How often its handler was called.
  bool ok = false;
  std::string reply{};  ///< As Describe tells it.
  CallError error{};
};

/// A loop that runs in the test's thread, and the calls made on it.
class ClientTest : public ::testing::Test {
 protected:
  static constexpr Micros kTimeout = seconds(20);

  Outcome& Send(Client& client, std::initializer_list<std::string_view> command,
                Micros timeout = seconds(10)) {
    Outcome& outcome = outcomes_.emplace_back();
    std::string bytes;
    resp::AppendCommand(bytes, command);
    client.Send(bytes, loop_.Now() + timeout, [this, &outcome](const Answer& answer) {
      ++outcome.times;
      ++answered_;
      outcome.ok = answer.ok();
      if (answer) {
        outcome.reply = Describe(answer.reply());
      } else {
        outcome.error = answer.error();
      }
    });
    return outcome;
  }

  /// Runs the loop until every call has been answered.
  void WaitForAll() {
    ASSERT_TRUE(RunUntil([this] { return answered_ >= outcomes_.size(); }))
        << answered_ << " of " << outcomes_.size() << " answered";
  }

  Outcome Ask(Client& client, std::initializer_list<std::string_view> command,
              Micros timeout = seconds(10)) {
    Outcome& outcome = Send(client, command, timeout);
    EXPECT_TRUE(RunUntil([&] { return outcome.times > 0; }));
    return outcome;
  }

  bool RunUntil(const std::function<bool()>& done, Micros timeout = kTimeout) {
    return loop_.RunUntil(done, SteadyClock::Now() + timeout);
  }

  bool RunUntilReady(const Client& client) {
    return RunUntil([&] { return client.state() == State::kReady; });
  }

  void RunFor(Micros time) {
    RunUntil([] { return false; }, time);
  }

  net::Loop loop_;
  std::deque<Outcome> outcomes_;
  std::size_t answered_ = 0;
};

}  // namespace sluice::redis::testing
