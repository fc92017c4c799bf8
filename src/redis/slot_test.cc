#include "redis/slot.h"

#include <string>

#include <gtest/gtest.h>

namespace sluice::redis {
namespace {

TEST(SlotTest, IsThatOfTheSpecification) {
  EXPECT_EQ(SlotOf("123456789"), 0x31C3 % kSlots);
  EXPECT_EQ(SlotOf(""), 0);
  // As redis-server says: CLUSTER KEYSLOT.
  EXPECT_EQ(SlotOf("foo"), 12182);
  EXPECT_EQ(SlotOf("somekey"), 11058);
}

TEST(SlotTest, IsThatOfTheTagIfThereIsOne) {
  EXPECT_EQ(SlotOf("sluice:v1:{alice}:rule:limit:"), SlotOf("alice"));
  EXPECT_EQ(SlotOf("{alice}{bob}"), SlotOf("alice"));
  EXPECT_EQ(SlotOf("{{alice}}"), SlotOf("{alice"));
}

TEST(SlotTest, AnEmptyOrOpenTagIsNone) {
  EXPECT_NE(SlotOf("a{}{b}"), SlotOf("b"));
  EXPECT_NE(SlotOf("x{}"), SlotOf("y{}"));
  EXPECT_NE(SlotOf("x{a"), SlotOf("a"));
}

}  // namespace
}  // namespace sluice::redis
