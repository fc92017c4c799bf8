#include "control/rule_service.h"

#include <atomic>
#include <chrono>
#include <future>
#include <latch>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "control/testing/conformance.h"
#include "control/testing/fake_control_store.h"

namespace sluice::control {
namespace {

using rules::ChangeEffect;
using rules::TextFormat;
using ::testing::HasSubstr;

constexpr const char* kFirst = R"(# Ours.
tiers:
  pro: 100 per minute
rules:
  - id: orders  # the busy one
    limit: 100 per minute
)";

class RuleServiceTest : public ::testing::Test {
 protected:
  RuleService MakeService(RuleServiceHooks hooks = {}) {
    return RuleService(store_, options_, std::move(hooks));
  }

  static ChangeRequest Put(std::string text) {
    return {.kind = ChangeKind::kPutDocument,
            .text = std::move(text),
            .origin = {.author = "alice", .authentication = "token", .address = "192.0.2.1"}};
  }

  // With the tag of the current version.
  ChangeRequest WithTag(ChangeRequest request) {
    request.if_match = EntityTag(store_.ReadCurrent()->value());
    return request;
  }

  ChangeRequest PutRule(std::string id, std::string text) {
    ChangeRequest request = Put(std::move(text));
    request.kind = ChangeKind::kPutRule;
    request.target = std::move(id);
    request.format = TextFormat::kJson;
    return WithTag(std::move(request));
  }

  void Start(RuleService& service) {
    ASSERT_EQ(service.Change(Put(kFirst)).outcome, ChangeOutcome::kCommitted);
  }

  std::string CurrentText() {
    const auto current = store_.ReadCurrent();
    return store_.ReadVersion((*current)->id)->value().text;
  }

  FakeClock clock_{WallTime{std::chrono::hours(24 * 365 * 50)}};
  testing::FakeControlStore store_{clock_};
  RuleServiceOptions options_{.node = "n1"};
};

TEST_F(RuleServiceTest, CommitsAndRecordsTheChange) {
  RuleService service = MakeService();
  Start(service);
  ChangeRequest request = WithTag(Put(std::string(kFirst) + "deny: [sk_bad]\n"));
  request.message = "block a key";
  const ChangeResult result = service.Change(request);
  ASSERT_EQ(result.outcome, ChangeOutcome::kCommitted) << result.message;
  EXPECT_EQ(ToText(result.version.ref.id), "1.2");
  EXPECT_EQ(result.version.message, "block a key");
  EXPECT_EQ(result.current, result.version.ref);
  EXPECT_EQ(CurrentText(), request.text);
  ASSERT_EQ(result.difference.size(), 1U);
  EXPECT_EQ(result.difference[0].field, "deny");
  EXPECT_EQ(result.difference[0].effect, ChangeEffect::kTightens);
  EXPECT_EQ(result.difference_from, "1.1");
  EXPECT_EQ(result.difference_to, "1.2");
  const auto audit = service.ReadAudit(0, 10);
  ASSERT_EQ(audit->size(), 2U);
  EXPECT_EQ(audit->front().event.action, "rules.commit");
  EXPECT_EQ(audit->front().event.target, "1.2");
  EXPECT_EQ(audit->front().event.origin.author, "alice");
  EXPECT_EQ(audit->front().event.node, "n1");
  EXPECT_EQ(testing::FindHistoryProblem(store_), "");
}

TEST_F(RuleServiceTest, NeedsTheTagOfTheCurrentVersion) {
  RuleService service = MakeService();
  Start(service);
  const ChangeResult without = service.Change(Put("rules: []\n"));
  EXPECT_EQ(without.outcome, ChangeOutcome::kPreconditionRequired);
  EXPECT_EQ(ToText(without.current.id), "1.1");
  ChangeRequest request = Put("rules: []\n");
  request.if_match = "\"9.9-0123456789ab\"";
  const ChangeResult other = service.Change(request);
  EXPECT_EQ(other.outcome, ChangeOutcome::kPreconditionFailed);
  // The version is not kept: the difference is that of the request.
  EXPECT_EQ(other.difference_from, "1.1");
  EXPECT_EQ(other.difference_to, "");
  EXPECT_FALSE(other.difference.empty());
  request.if_match = "W/" + EntityTag(other.current);
  EXPECT_EQ(service.Change(request).outcome, ChangeOutcome::kPreconditionFailed);
  request.if_match = "\"x\", " + EntityTag(other.current);
  EXPECT_EQ(service.Change(request).outcome, ChangeOutcome::kCommitted);
  request = Put(kFirst);
  request.if_match = "*";
  EXPECT_EQ(service.Change(request).outcome, ChangeOutcome::kCommitted);
}

TEST_F(RuleServiceTest, TheSecondOfTwoEditorsGetsTheDifference) {
  RuleService service = MakeService();
  Start(service);
  const ChangeRequest first = PutRule("orders", R"({"limit": "50 per minute"})");
  const ChangeRequest second = PutRule("orders", R"({"limit": "70 per minute"})");
  EXPECT_EQ(service.Change(first).outcome, ChangeOutcome::kCommitted);
  const ChangeResult result = service.Change(second);
  EXPECT_EQ(result.outcome, ChangeOutcome::kPreconditionFailed);
  EXPECT_EQ(ToText(result.current.id), "1.2");
  EXPECT_EQ(result.difference_from, "1.1");
  EXPECT_EQ(result.difference_to, "1.2");
  ASSERT_EQ(result.difference.size(), 1U);
  EXPECT_EQ(result.difference[0].rule, "orders");
  EXPECT_EQ(result.difference[0].effect, ChangeEffect::kTightens);
  EXPECT_EQ(store_.GetContent().versions.size(), 2U);
}

TEST_F(RuleServiceTest, EditsOneRuleAndOneTier) {
  RuleService service = MakeService();
  Start(service);
  const ChangeResult rule = service.Change(PutRule("search", R"({"limit": "5/s"})"));
  EXPECT_EQ(rule.outcome, ChangeOutcome::kCommitted) << rule.message;
  EXPECT_TRUE(rule.created);
  ChangeRequest tier = PutRule("pro", R"({"limit": 500})");
  tier.kind = ChangeKind::kPutTier;
  const ChangeResult changed = service.Change(tier);
  EXPECT_EQ(changed.outcome, ChangeOutcome::kCommitted) << changed.message;
  EXPECT_FALSE(changed.created);
  EXPECT_EQ(CurrentText(), R"(# Ours.
tiers:
  pro:
    limit: 500 per minute
rules:
  - id: orders  # the busy one
    limit: 100 per minute
  - id: search
    limit: 5/s
)");
  ChangeRequest remove = PutRule("search", "");
  remove.kind = ChangeKind::kDeleteRule;
  EXPECT_EQ(service.Change(remove).outcome, ChangeOutcome::kCommitted);
  remove = WithTag(remove);
  EXPECT_EQ(service.Change(remove).outcome, ChangeOutcome::kNotFound);
  remove = WithTag(remove);
  remove.kind = ChangeKind::kDeleteTier;
  remove.target = "pro";
  EXPECT_EQ(service.Change(remove).outcome, ChangeOutcome::kCommitted);
}

TEST_F(RuleServiceTest, StoresNothingThatHasErrors) {
  RuleService service = MakeService();
  Start(service);
  const ChangeResult bad =
      service.Change(WithTag(Put("rules:\n  - id: a\n    ordr: 1\n    limit: 5/s\n")));
  EXPECT_EQ(bad.outcome, ChangeOutcome::kInvalid);
  ASSERT_FALSE(bad.errors.empty());
  EXPECT_EQ(bad.errors[0].field, "rules[0].ordr");
  EXPECT_EQ(bad.errors[0].position.line, 3);
  EXPECT_THAT(bad.errors[0].message, HasSubstr("did you mean `order`?"));

  ChangeRequest json = WithTag(Put("{\"rules\": [}"));
  json.format = TextFormat::kJson;
  const ChangeResult no_json = service.Change(json);
  EXPECT_EQ(no_json.outcome, ChangeOutcome::kInvalid);
  EXPECT_THAT(no_json.errors.at(0).message, HasSubstr("not JSON"));

  EXPECT_EQ(service.Change(PutRule("orders", R"({"id": "other"})")).outcome,
            ChangeOutcome::kInvalid);
  EXPECT_EQ(service.Change(WithTag(Put(std::string(kMaxDocumentBytes + 1, '#')))).outcome,
            ChangeOutcome::kTooLarge);
  ChangeRequest request = WithTag(Put("rules: []\n"));
  request.message = std::string(5000, 'x');
  EXPECT_EQ(service.Change(request).field, "message");
  EXPECT_EQ(store_.GetContent().versions.size(), 1U);
  EXPECT_EQ(store_.GetContent().audit.size(), 1U);
}

TEST_F(RuleServiceTest, StoresAJsonDocumentAsYaml) {
  RuleService service = MakeService();
  ChangeRequest request = Put(R"({"rules":[{"id":"a","limit":"5/s"}]})");
  request.format = TextFormat::kJson;
  const ChangeResult result = service.Change(request);
  ASSERT_EQ(result.outcome, ChangeOutcome::kCommitted) << result.message;
  EXPECT_EQ(CurrentText(), "rules:\n  - id: a\n    limit: 5/s\n");
}

TEST_F(RuleServiceTest, ADryRunStoresNothing) {
  RuleService service = MakeService();
  Start(service);
  ChangeRequest request = Put("rules: []\n");
  request.dry_run = true;
  const ChangeResult result = service.Change(request);
  EXPECT_EQ(result.outcome, ChangeOutcome::kValid);
  EXPECT_EQ(result.text, "rules: []\n");
  EXPECT_EQ(result.difference.size(), 2U);
  ASSERT_TRUE(result.impact);
  EXPECT_EQ(result.impact->unavailable_reason, "this node samples no traffic");
  EXPECT_EQ(store_.GetContent().versions.size(), 1U);
}

TEST_F(RuleServiceTest, ADryRunOfTheCurrentTextIsUnchanged) {
  RuleService service = MakeService();
  Start(service);
  ChangeRequest request = Put(CurrentText());
  request.dry_run = true;
  EXPECT_EQ(service.Change(request).outcome, ChangeOutcome::kUnchanged);
}

TEST_F(RuleServiceTest, AVersionThatRejectsEverythingNeedsToSaySo) {
  RuleService service = MakeService();
  Start(service);
  ChangeRequest request = WithTag(Put("default: deny\nrules: []\n"));
  const ChangeResult refused = service.Change(request);
  EXPECT_EQ(refused.outcome, ChangeOutcome::kRejectsAll);
  EXPECT_THAT(refused.message, HasSubstr("no enabled rule admits a call"));
  request.force = true;
  EXPECT_EQ(service.Change(request).outcome, ChangeOutcome::kMessageRequired);
  request.message = "maintenance";
  EXPECT_EQ(service.Change(request).outcome, ChangeOutcome::kCommitted);
  request = WithTag(Put("default: deny\nrules: [{ id: a, reject_all: true }]\n"));
  request.allow_reject_all = true;
  EXPECT_EQ(service.Change(request).outcome, ChangeOutcome::kCommitted);
}

TEST_F(RuleServiceTest, TheGuardRefusesAChangeThatDeniesTooMuch) {
  options_.max_newly_denied = 0.01;
  std::size_t nodes = 0;
  RuleService service =
      MakeService({.evaluate_impact = [&](const match::RuleSet& before, const match::RuleSet& after,
                                          std::size_t live_nodes) -> ChangeImpact {
        EXPECT_EQ(before.file().rules.size(), 1U);
        nodes = live_nodes;
        if (after.file().rules.empty()) return {.unavailable_reason = "too few calls"};
        return {.newly_denied_ratio = 0.02};
      }});
  Start(service);
  const ChangeRequest request = PutRule("orders", R"({"limit": "1/s"})");
  const ChangeResult refused = service.Change(request);
  EXPECT_EQ(refused.outcome, ChangeOutcome::kGuardExceeded);
  EXPECT_EQ(refused.impact->newly_denied_ratio, 0.02);
  EXPECT_FALSE(refused.difference.empty());
  EXPECT_EQ(nodes, 1U);
  // Without an impact, it lets pass.
  ChangeRequest unknown = WithTag(Put("rules: []\n"));
  EXPECT_EQ(service.Change(unknown).outcome, ChangeOutcome::kCommitted);
  // A restore is never refused.
  const ChangeResult restored =
      service.Change({.kind = ChangeKind::kRestore, .restore = {.epoch = 1, .number = 1}});
  EXPECT_EQ(restored.outcome, ChangeOutcome::kCommitted);
  ChangeRequest forced = PutRule("orders", R"({"limit": "1/s"})");
  forced.force = true;
  forced.message = "an attack";
  EXPECT_EQ(service.Change(forced).outcome, ChangeOutcome::kCommitted);
}

TEST_F(RuleServiceTest, RestoringMakesANewVersion) {
  options_.require_message = true;
  RuleService service = MakeService();
  ChangeRequest first = Put(kFirst);
  EXPECT_EQ(service.Change(first).outcome, ChangeOutcome::kMessageRequired);
  first.message = "first";
  EXPECT_EQ(service.Change(first).outcome, ChangeOutcome::kCommitted);
  ChangeRequest second = WithTag(Put("rules: []\n"));
  second.message = "second";
  EXPECT_EQ(service.Change(second).outcome, ChangeOutcome::kCommitted);
  const ChangeResult result =
      service.Change({.kind = ChangeKind::kRestore, .restore = {.epoch = 0, .number = 1}});
  ASSERT_EQ(result.outcome, ChangeOutcome::kCommitted) << result.message;
  EXPECT_EQ(ToText(result.version.ref.id), "1.3");
  EXPECT_EQ(result.version.source, VersionSource::kRestored);
  EXPECT_EQ(ToText(result.version.restores), "1.1");
  EXPECT_EQ(CurrentText(), kFirst);
  EXPECT_EQ(service.ReadAudit(0, 1)->front().event.action, "rules.restore");
  EXPECT_EQ(service.Change({.kind = ChangeKind::kRestore, .restore = {.number = 77}}).outcome,
            ChangeOutcome::kNotFound);
}

TEST_F(RuleServiceTest, TheSameTextMakesNoVersion) {
  RuleService service = MakeService();
  Start(service);
  const ChangeResult result = service.Change(WithTag(Put(kFirst)));
  EXPECT_EQ(result.outcome, ChangeOutcome::kUnchanged);
  EXPECT_EQ(ToText(result.version.ref.id), "1.1");
  EXPECT_EQ(store_.GetContent().versions.size(), 1U);
}

TEST_F(RuleServiceTest, ARetryGetsTheFirstResult) {
  RuleService service = MakeService();
  Start(service);
  ChangeRequest request = PutRule("orders", R"({"limit": "50 per minute"})");
  request.idempotency_key = "key-1";
  EXPECT_EQ(service.Change(request).outcome, ChangeOutcome::kCommitted);
  const ChangeResult again = service.Change(request);
  EXPECT_EQ(again.outcome, ChangeOutcome::kRepeated);
  EXPECT_EQ(ToText(again.version.ref.id), "1.2");
  // Also after further versions.
  EXPECT_EQ(service.Change(WithTag(Put("rules: []\n"))).outcome, ChangeOutcome::kCommitted);
  EXPECT_EQ(ToText(service.Change(request).version.ref.id), "1.2");
  request.text = R"({"limit": "60 per minute"})";
  EXPECT_EQ(service.Change(request).outcome, ChangeOutcome::kIdempotencyConflict);
  EXPECT_EQ(store_.GetContent().versions.size(), 3U);
}

TEST_F(RuleServiceTest, ACommitWhoseAnswerIsLostIsFoundAgain) {
  RuleService service = MakeService();
  Start(service);
  store_.SetCommitAnswer(Error{ErrorCode::kStoreTimeout, "no answer"});
  const ChangeResult result = service.Change(WithTag(Put("rules: []\n")));
  EXPECT_EQ(result.outcome, ChangeOutcome::kCommitted);
  EXPECT_EQ(result.replicated, false);
  EXPECT_EQ(ToText(result.version.ref.id), "1.2");
}

TEST_F(RuleServiceTest, AFailingStoreIsReported) {
  RuleService service = MakeService();
  Start(service);
  const ChangeRequest request = WithTag(Put("rules: []\n"));
  store_.SetFailure(Error{ErrorCode::kStoreUnavailable, "connection refused"});
  const ChangeResult result = service.Change(request);
  EXPECT_EQ(result.outcome, ChangeOutcome::kStoreFailed);
  EXPECT_EQ(result.message, "connection refused");
  EXPECT_FALSE(service.GetCurrent());
}

TEST_F(RuleServiceTest, AStoreThatLostItsVersionsIsNotFilledByAChange) {
  RuleService service = MakeService(
      {.active_version = [] { return VersionRef{.id = {.epoch = 1, .number = 7}, .hash = "x"}; }});
  const ChangeResult result = service.Change(Put(kFirst));
  EXPECT_EQ(result.outcome, ChangeOutcome::kStoreFailed);
  EXPECT_THAT(result.message, HasSubstr("lost its versions"));
  EXPECT_TRUE(store_.GetContent().versions.empty());
}

TEST_F(RuleServiceTest, OneChangeIsEvaluatedAtATime) {
  std::latch entered(1);
  std::promise<void> leave;
  std::shared_future<void> may_leave = leave.get_future().share();
  RuleService service = MakeService(
      {.evaluate_impact = [&](const match::RuleSet&, const match::RuleSet&, std::size_t) {
        entered.count_down();
        may_leave.wait();
        return ChangeImpact{.unavailable_reason = "none"};
      }});
  Start(service);
  const ChangeRequest request = WithTag(Put("rules: []\n"));
  ChangeResult first;
  std::jthread thread([&] { first = service.Change(request); });
  entered.wait();
  EXPECT_EQ(service.Change(request).outcome, ChangeOutcome::kBusy);
  leave.set_value();
  thread.join();
  EXPECT_EQ(first.outcome, ChangeOutcome::kCommitted);
}

TEST_F(RuleServiceTest, ChangesAndRestoresDoNotWaitForADryRun) {
  std::latch entered(1);
  std::promise<void> leave;
  std::shared_future<void> may_leave = leave.get_future().share();
  std::atomic<bool> is_first{true};
  RuleService service = MakeService(
      {.evaluate_impact = [&](const match::RuleSet&, const match::RuleSet&, std::size_t) {
        if (is_first.exchange(false)) {
          entered.count_down();
          may_leave.wait();
        }
        return ChangeImpact{.unavailable_reason = "none"};
      }});
  Start(service);
  ChangeRequest dry_run = WithTag(Put("rules: []\n"));
  dry_run.dry_run = true;
  ChangeResult evaluated;
  std::jthread thread([&] { evaluated = service.Change(dry_run); });
  entered.wait();
  EXPECT_EQ(service.Change(dry_run).outcome, ChangeOutcome::kBusy);
  EXPECT_EQ(service.Change(WithTag(Put("rules: []\n"))).outcome, ChangeOutcome::kCommitted);
  EXPECT_EQ(
      service.Change({.kind = ChangeKind::kRestore, .restore = {.epoch = 1, .number = 1}}).outcome,
      ChangeOutcome::kCommitted);
  leave.set_value();
  thread.join();
  EXPECT_EQ(evaluated.outcome, ChangeOutcome::kValid);
}

TEST_F(RuleServiceTest, FillsInTheNumbersThatCallersOutsideOfARolloutKeep) {
  RuleService service = MakeService();
  ASSERT_EQ(service.Change(Put("rules:\n  - { id: api, limit: 100/m }\n")).outcome,
            ChangeOutcome::kCommitted);
  const std::string without = "rules:\n  - { id: api, limit: 200/m, rollout: {percent: 10} }\n";
  const std::string filled =
      "rules:\n  - { id: api, limit: 200/m, rollout: {from: {limit: 100/m}, percent: 10} }\n";
  ChangeRequest dry_run = WithTag(Put(without));
  dry_run.dry_run = true;
  EXPECT_FALSE(service.Change(dry_run).difference.empty());
  EXPECT_EQ(service.Change(WithTag(Put(without))).outcome, ChangeOutcome::kCommitted);
  EXPECT_EQ(CurrentText(), filled);
  EXPECT_EQ(service.Change(WithTag(Put(without))).outcome, ChangeOutcome::kUnchanged)
      << "the same file again keeps `from`";
  EXPECT_EQ(service
                .Change(WithTag(Put("rules:\n  - { id: other, limit: 200/m, "
                                    "rollout: {percent: 10} }\n")))
                .outcome,
            ChangeOutcome::kCommitted);
  EXPECT_EQ(CurrentText().find("from"), std::string::npos) << "a new rule has no `from`";
}

TEST_F(RuleServiceTest, RefusesARolloutWhoseFromCanNotBeFilledIn) {
  RuleService service = MakeService();
  ASSERT_EQ(service.Change(Put("rules: [{id: a, limit: 1/s}, {id: b, limit: 1/s}]\n")).outcome,
            ChangeOutcome::kCommitted);
  const ChangeResult shared = service.Change(WithTag(
      Put("x-r: &r {percent: 10}\n"
          "rules: [{id: a, limit: 2/s, rollout: *r}, {id: b, limit: 2/s, rollout: *r}]\n")));
  EXPECT_EQ(shared.outcome, ChangeOutcome::kInvalid);
  ASSERT_FALSE(shared.errors.empty());
  EXPECT_EQ(shared.errors[0].field, "a");
  const ChangeResult algorithm = service.Change(WithTag(
      Put("rules: [{id: a, algorithm: leaky_bucket, limit: 2/s, rollout: {percent: 10}}]\n")));
  EXPECT_EQ(algorithm.outcome, ChangeOutcome::kInvalid);
  ASSERT_FALSE(algorithm.errors.empty());
  EXPECT_EQ(algorithm.errors[0].field, "rules[0].rollout.from");
}

TEST_F(RuleServiceTest, WaitsForTheNodesAndNamesThoseThatLag) {
  int woken = 0;
  RuleService service = MakeService({.wake_follower = [&] { ++woken; }});
  Start(service);
  const VersionRef first = store_.ReadCurrent()->value();
  const auto write_node = [&](const char* id, const VersionRef& active,
                              const VersionRef& rejected = {}) {
    ASSERT_TRUE(store_.WriteNode(
        {.id = id, .active = active, .rejected = rejected, .error = "unknown field"}));
  };
  write_node("gone", first);
  clock_.Advance(kNodeTimeout + Micros(1));
  write_node("a", first);
  write_node("b", first);
  ChangeRequest request = WithTag(Put("rules: []\n"));
  request.wait = Micros(0);
  const ChangeResult result = service.Change(request);
  ASSERT_EQ(result.outcome, ChangeOutcome::kCommitted);
  EXPECT_EQ(woken, 2);
  ASSERT_TRUE(result.propagation);
  EXPECT_EQ(result.propagation->applied, 0U);
  EXPECT_EQ(result.propagation->of, 2U);
  EXPECT_EQ(result.propagation->lagging.at(0).reason, "still has 1.1");
  write_node("a", result.version.ref);
  write_node("b", first, result.version.ref);
  const auto partly = service.Wait(result.version.ref, Micros(0));
  EXPECT_EQ(partly->applied, 1U);
  ASSERT_EQ(partly->lagging.size(), 1U);
  EXPECT_EQ(partly->lagging[0].status.state, NodeState::kRejected);
  EXPECT_EQ(partly->lagging[0].reason, "can't use it: unknown field");
  // A wait ends when the last node has the version.
  std::jthread thread([&] { write_node("b", result.version.ref); });
  const auto complete = service.Wait(result.version.ref, std::chrono::seconds(60));
  EXPECT_TRUE(complete->complete());
  EXPECT_EQ(complete->of, 2U);
  const auto nodes = service.ListNodes();
  ASSERT_EQ(nodes->nodes.size(), 3U);
  EXPECT_EQ(nodes->nodes[0].state, NodeState::kOk);
  EXPECT_EQ(nodes->nodes[2].state, NodeState::kGone);
}

TEST_F(RuleServiceTest, StopEndsAWait) {
  RuleService service = MakeService();
  Start(service);
  const VersionRef version = store_.ReadCurrent()->value();
  ASSERT_TRUE(store_.WriteNode({.id = "a"}));
  std::jthread thread([&] { service.Stop(); });
  const auto result = service.Wait(version, std::chrono::seconds(60));
  EXPECT_EQ(result->applied, 0U);
  EXPECT_EQ(result->lagging.at(0).reason, "has no version yet");
}

TEST_F(RuleServiceTest, ComparesVersions) {
  RuleService service = MakeService();
  Start(service);
  EXPECT_EQ(service.Change(PutRule("orders", R"({"limit": "50 per minute"})")).outcome,
            ChangeOutcome::kCommitted);
  const auto difference = service.Compare({.number = 2}, {.epoch = 1, .number = 1});
  ASSERT_TRUE(difference);
  ASSERT_TRUE(*difference);
  ASSERT_EQ((*difference)->rows.size(), 1U);
  EXPECT_EQ((*difference)->rows[0].effect, ChangeEffect::kLoosens);
  EXPECT_EQ(ToText((*difference)->from.ref.id), "1.2");
  EXPECT_FALSE(*service.Compare({.number = 2}, {.number = 9}));
}

TEST_F(RuleServiceTest, RecordsOtherActions) {
  RuleService service = MakeService();
  const auto record = service.AppendAudit({.author = "bob"}, "enforcement.set", "shadow", "a test");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->sequence, 1U);
  EXPECT_EQ(record->event.node, "n1");
  EXPECT_EQ(record->event.time, clock_.Now());
}

}  // namespace
}  // namespace sluice::control
