// Several clients change the rules at the same time, each through a service of its own: exactly one
// of them gets each number, no change is lost, and the audit log is one chain.

#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "base/testing/seed.h"
#include "control/rule_service.h"
#include "control/testing/conformance.h"
#include "control/testing/fake_control_store.h"
#include "rules/reader.h"

namespace sluice::control {
namespace {

constexpr int kClients = 4;
constexpr int kCommitsEach = 12;

/// The rules that the history must lead to: each client counts up in a rule of its own.
struct Model {
  std::mutex mutex;
  std::map<VersionId, std::string> commits;  ///< The client of each version.
  std::map<std::string, int> limits;         ///< The last number that each client has committed.
};

void RunClient(ControlStore& store, int client, unsigned seed, Model& model) {
  RuleService service(store, {.node = "n" + std::to_string(client)});
  std::mt19937 random(seed + static_cast<unsigned>(client));
  const std::string id = "rule" + std::to_string(client);
  for (int number = 1; number <= kCommitsEach; ++number) {
    ChangeRequest request{.kind = ChangeKind::kPutRule,
                          .target = id,
                          .text = "limit: " + std::to_string(number) + "/s\n",
                          .message = "by " + id,
                          .idempotency_key = id + "-" + std::to_string(number)};
    while (true) {
      const auto current = store.ReadCurrent();
      ASSERT_TRUE(current && *current);
      request.if_match = EntityTag(**current);
      const ChangeResult result = service.Change(request);
      if (result.outcome == ChangeOutcome::kPreconditionFailed) continue;
      ASSERT_EQ(result.outcome, ChangeOutcome::kCommitted) << result.message;
      const std::lock_guard lock(model.mutex);
      EXPECT_TRUE(model.commits.emplace(result.version.ref.id, id).second)
          << "two clients got " << ToText(result.version.ref.id);
      model.limits[id] = number;
      break;
    }
    // A retry of a request whose answer was lost.
    if (random() % 3 == 0) {
      const ChangeResult again = service.Change(request);
      ASSERT_EQ(again.outcome, ChangeOutcome::kRepeated);
      EXPECT_EQ(again.version.idempotency_key.substr(17), request.idempotency_key);
    }
  }
}

TEST(RuleServiceModelTest, ExactlyOneClientGetsEachNumber) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  const FakeClock clock(WallTime{std::chrono::hours(24 * 365 * 50)});
  testing::FakeControlStore store(clock);
  RuleService first(store, {});
  ASSERT_EQ(first.Change({.text = "# all\nrules: []\n"}).outcome, ChangeOutcome::kCommitted);
  Model model;
  {
    std::vector<std::jthread> threads;
    for (int client = 0; client < kClients; ++client) {
      threads.emplace_back([&, client] { RunClient(store, client, seed, model); });
    }
  }
  const auto content = store.GetContent();
  ASSERT_TRUE(content.current);
  EXPECT_EQ(content.current->id.number, 1U + kClients * kCommitsEach);
  EXPECT_EQ(model.commits.size(), std::size_t{kClients * kCommitsEach});
  EXPECT_EQ(testing::FindHistoryProblem(store), "");
  const auto audit = store.ReadAudit(0, 1000);
  ASSERT_EQ(audit->size(), 1U + kClients * kCommitsEach);
  for (std::size_t i = 0; i + 1 < audit->size(); ++i) {
    EXPECT_TRUE(Follows((*audit)[i], (*audit)[i + 1]));
    EXPECT_EQ((*audit)[i].event.target, "1." + std::to_string(audit->size() - i));
  }
  // No change was lost.
  const auto current = store.ReadVersion(content.current->id);
  const rules::ReadResult read = rules::Read("rules", (*current)->text);
  ASSERT_TRUE(read.file);
  EXPECT_EQ(read.file->rules.size(), std::size_t{kClients});
  for (const rules::Rule& rule : read.file->rules) {
    EXPECT_EQ(rule.variants.usual.at(0).limit.cap(), model.limits[rule.id]) << rule.id;
  }
  EXPECT_TRUE((*current)->text.starts_with("# all\n"));
}

}  // namespace
}  // namespace sluice::control
