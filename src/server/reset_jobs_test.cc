#include "server/reset_jobs.h"

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "server/redis_report.h"

namespace sluice::server {
namespace {

using api::KeySelector;
using api::ListedKey;
using api::ResetJob;
using api::ResetState;

// Keys "0" to "n-1", ten in each portion.
class NumberedKeys final : public KeySource {
 public:
  explicit NumberedKeys(int count) : count_(count) {}

  Result<KeyPortion> Next(const KeySelector& selector, const std::string& cursor) override {
    if (failures.load() > 0) {
      --failures;
      return Error{ErrorCode::kStoreUnavailable, "no connection"};
    }
    const int begin = cursor.empty() ? 0 : std::stoi(cursor);
    KeyPortion portion;
    int i = begin;
    for (; i < begin + 10 && i < count_; ++i) {
      ++portion.scanned;
      const std::string tag = std::to_string(i);
      const Key key{.scope = "api:default", .tag = tag};
      if (selector.Matches(key)) portion.keys.push_back({.key = OwnedKey(key)});
    }
    if (i < count_) portion.cursor = std::to_string(i);
    return portion;
  }
  [[nodiscard]] bool is_complete() const override { return true; }

  std::atomic<int> failures{0};

 private:
  const int count_;
};

class ResetJobsTest : public ::testing::Test {
 protected:
  ResetJobOptions Options() {
    return {.reset = [this](const std::vector<ListedKey>& keys) -> Result<std::size_t> {
              if (reset_fails_.load()) return Error{ErrorCode::kStoreTimeout, "Redis is gone"};
              reset_ += keys.size();
              return keys.size();
            },
            .on_ended = [this](const ResetJob& /*job*/) { ++ended_; },
            .give_up_after = std::chrono::milliseconds(100)};
  }

  static ResetJob Await(const ResetJobs& jobs, const std::string& id) {
    while (true) {
      const auto job = jobs.Find(id);
      EXPECT_TRUE(job);
      if (!job || job->state != ResetState::kRunning) return job.value_or(ResetJob{});
      std::this_thread::yield();
    }
  }

  std::atomic<std::size_t> reset_{0};
  std::atomic<int> ended_{0};
  std::atomic<bool> reset_fails_{false};
};

TEST_F(ResetJobsTest, AJobResetsEveryKeyThatMatchesAndNoOther) {
  NumberedKeys keys(200);
  ResetJobs jobs(keys, Options());
  const auto started = jobs.Start({.prefix = "1"}, 1000, {.author = "ops"});
  ASSERT_TRUE(started);
  const ResetJob job = Await(jobs, started->id);
  EXPECT_EQ(job.state, ResetState::kDone) << job.error;
  EXPECT_EQ(job.scanned, 200U);
  EXPECT_EQ(job.matched, 111U);  // 1, 10 to 19, 100 to 199.
  EXPECT_EQ(job.reset, 111U);
  EXPECT_TRUE(job.ended);
  EXPECT_EQ(job.origin.author, "ops");
  EXPECT_EQ(ended_, 1);
}

TEST_F(ResetJobsTest, OneRunsAtATimeAndMayBeCanceled) {
  NumberedKeys keys(1'000'000);
  ResetJobs jobs(keys, Options());
  const auto started = jobs.Start({.prefix = "7"}, 1'000'000, {});
  ASSERT_TRUE(started);
  EXPECT_FALSE(jobs.Start({.prefix = "8"}, 10, {}));
  EXPECT_FALSE(jobs.Cancel("unknown"));
  EXPECT_TRUE(jobs.Cancel(started->id));
  EXPECT_EQ(Await(jobs, started->id).state, ResetState::kCanceled);
  const auto next = jobs.Start({.prefix = "nothing"}, 10, {});
  ASSERT_TRUE(next);
  jobs.Stop();
  EXPECT_EQ(jobs.Find(next->id)->state, ResetState::kCanceled);
  EXPECT_EQ(jobs.List().size(), 2U);
}

TEST_F(ResetJobsTest, ItGoesOnAfterErrorsThatPass) {
  NumberedKeys keys(50);
  keys.failures = 1;
  ResetJobs jobs(keys, Options());
  const ResetJob job = Await(jobs, jobs.Start({}, 1000, {})->id);
  EXPECT_EQ(job.state, ResetState::kDone) << job.error;
  EXPECT_EQ(job.reset, 50U);
}

TEST_F(ResetJobsTest, WithoutProgressItFailsAndSaysWhy) {
  NumberedKeys keys(50);
  reset_fails_ = true;
  ResetJobs jobs(keys, Options());
  const ResetJob job = Await(jobs, jobs.Start({}, 1000, {})->id);
  EXPECT_EQ(job.state, ResetState::kFailed);
  EXPECT_EQ(job.error, "Redis is gone");
  EXPECT_EQ(job.reset, 0U);
  keys.failures = 1'000'000;
  EXPECT_EQ(Await(jobs, jobs.Start({}, 1000, {})->id).error, "no connection");
}

TEST_F(ResetJobsTest, AJobThatMatchesTooManyKeysFails) {
  NumberedKeys keys(500);
  ResetJobs jobs(keys, Options());
  const ResetJob job = Await(jobs, jobs.Start({}, 25, {})->id);
  EXPECT_EQ(job.state, ResetState::kFailed);
  EXPECT_EQ(job.matched, 20U);
  EXPECT_EQ(reset_, 20U);
}

TEST(RedisReportTest, ReadsInfo) {
  api::RedisReport report;
  ReadInfo(
      "# Server\r\nredis_version:7.2.1\r\nrole:master\r\nused_memory:1000\r\nmaxmemory:0\r\n"
      "instantaneous_ops_per_sec:42\r\nevicted_keys:3\r\nslave0:ip=10.0.0.2,port=6379,"
      "state=online,offset=90,lag=1\r\nslave_repl_offset:5\r\nmaster_repl_offset:100\r\n",
      report);
  EXPECT_EQ(report.version, "7.2.1");
  EXPECT_EQ(report.role, "master");
  EXPECT_EQ(report.used_bytes, 1000);
  EXPECT_EQ(report.operations_per_second, 42);
  EXPECT_EQ(report.evicted_keys, 3);
  ASSERT_EQ(report.replicas.size(), 1U);
  EXPECT_EQ(report.replicas[0].address, "10.0.0.2:6379");
  EXPECT_EQ(report.replicas[0].lag_bytes, 10);
  EXPECT_EQ(report.replicas[0].lag_seconds, 1);
}

}  // namespace
}  // namespace sluice::server
