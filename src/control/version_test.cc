#include "control/version.h"

#include <gtest/gtest.h>

#include "control/audit.h"
#include "control/node.h"

namespace sluice::control {
namespace {

TEST(VersionId, IsWrittenAndParsed) {
  EXPECT_EQ(ToText({.epoch = 2, .number = 17}), "2.17");
  EXPECT_EQ(ParseVersionId("2.17"), (VersionId{.epoch = 2, .number = 17}));
  EXPECT_EQ(ParseVersionId("17"), (VersionId{.epoch = 0, .number = 17}));
  for (const char* bad : {"", ".", "0", "1.", ".1", "0.1", "1.0", "1.2.3", "-1", "+1", "1 ", "x",
                          "18446744073709551616"}) {
    EXPECT_EQ(ParseVersionId(bad), std::nullopt) << bad;
  }
}

TEST(VersionId, OfANewEpochIsNewer) {
  EXPECT_LT((VersionId{.epoch = 1, .number = 9}), (VersionId{.epoch = 2, .number = 1}));
}

TEST(EntityTag, HasTheFirstDigitsOfTheHash) {
  EXPECT_EQ(EntityTag({.id = {.epoch = 1, .number = 3}, .hash = "0123456789abcdef"}),
            "\"1.3-0123456789ab\"");
}

TEST(VersionSource, NamesAreParsed) {
  for (const VersionSource source : {VersionSource::kApi, VersionSource::kSeed,
                                     VersionSource::kRestored, VersionSource::kRecovered}) {
    EXPECT_EQ(ParseVersionSource(NameOf(source)), source);
  }
  EXPECT_EQ(ParseVersionSource("other"), std::nullopt);
}

TEST(AuditRecord, EveryFieldChangesTheHash) {
  const AuditRecord first = NextRecord({}, {.action = "rules.commit", .target = "1.1"});
  EXPECT_EQ(first.sequence, 1U);
  EXPECT_EQ(first.hash, HashOf(first));
  const AuditRecord second = NextRecord(first, {.action = "rules.restore"});
  EXPECT_EQ(second.previous_hash, first.hash);
  AuditRecord changed = first;
  changed.event.target = "1.2";
  EXPECT_NE(HashOf(changed), first.hash);
  // Text that moves from one field to the next is another record.
  AuditRecord moved = first;
  moved.event.action = "rules.commit1";
  moved.event.target = ".1";
  EXPECT_NE(HashOf(moved), first.hash);
}

TEST(NodeState, FollowsFromTheRecord) {
  const VersionRef current{.id = {.epoch = 1, .number = 2}, .hash = "b"};
  const WallTime now{std::chrono::seconds(100)};
  NodeRecord node{.active = current, .last_seen = now};
  EXPECT_EQ(StateOf(node, current, now), NodeState::kOk);
  node.active = {.id = {.epoch = 1, .number = 1}, .hash = "a"};
  EXPECT_EQ(StateOf(node, current, now), NodeState::kBehind);
  node.rejected = current;
  EXPECT_EQ(StateOf(node, current, now), NodeState::kRejected);
  EXPECT_EQ(StateOf(node, current, now + kNodeTimeout + Micros(1)), NodeState::kGone);
}

}  // namespace
}  // namespace sluice::control
