#include "match/entry_text.h"

#include <chrono>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing/seed.h"
#include "base/timestamp.h"
#include "match/testing/random_entries.h"
#include "rules/reader.h"

namespace sluice::match {
namespace {

const WallTime kNow = *ParseTimestamp("2026-12-01T12:00:00Z");

EntryReadResult Read(std::string_view text,
                     const EntryDefaults& defaults = {.now = kNow, .author = "ann"}) {
  JsonDocument document;
  const auto json = document.Parse(text);
  EXPECT_TRUE(json) << text;
  return ReadEntry("e1", *json, defaults);
}

std::string ErrorOf(std::string_view text) {
  const EntryReadResult result = Read(text);
  return result.entry ? "none" : result.error.field + ": " + result.error.message;
}

TEST(ReadEntry, TakesTheDefaultsOfWhatIsLeftOut) {
  const auto result = Read(R"({"match":{"api_key":"sk_1"},"effect":"block"})");
  ASSERT_TRUE(result.entry) << result.error.message;
  EXPECT_EQ(result.entry->status, 403);
  EXPECT_EQ(result.entry->author, "ann");
  EXPECT_EQ(result.entry->created, kNow);
  EXPECT_EQ(result.entry->expires_at, kNow + std::chrono::hours(24));
  EXPECT_EQ(Read(R"({"match":{},"effect":"allow","expires_at":null})").entry->expires_at,
            Entry::kNever);
  EXPECT_EQ(Read(R"({"match":{},"effect":"allow","expires_in":"2h"})").entry->expires_at,
            kNow + std::chrono::hours(2));
}

TEST(ReadEntry, WhatIsWrittenIsReadTheSame) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  testing::RandomEntries random(seed);
  for (int i = 0; i < 300; ++i) {
    Entry entry = random.One();
    if (entry.effect != EntryEffect::kLimit) {
      entry.limit = 0;
      entry.period = Micros{0};
    }
    if (entry.effect != EntryEffect::kMultiply) entry.factor = {};
    entry.author = "ann <b>\"'";
    entry.reason = "a\xC3\xA4</script>";
    entry.match.push_back({.attribute = "user", .value = std::string(256, '*')});
    const std::string text = StoredText(entry);
    const auto read = ReadStoredEntry(entry.id, text);
    ASSERT_TRUE(read.entry) << read.error.field << ' ' << read.error.message << ' ' << text;
    EXPECT_EQ(StoredText(*read.entry), text);
    EXPECT_EQ(read.entry->match, entry.match);
  }
}

TEST(ReadEntry, APenaltyIsStoredAndIgnoredInRequests) {
  Entry entry;
  entry.match.push_back({.attribute = "api_key", .value = "k"});
  entry.author = "sluice";
  entry.created = kNow;
  entry.expires_at = kNow + std::chrono::hours(1);
  entry.penalty = EntryPenalty{.rule = "r",
                               .rules_version = "1.7",
                               .step = 2,
                               .offenses = 3,
                               .forgotten_at = kNow + std::chrono::hours(9),
                               .shadow = true,
                               .without_key = true};
  entry.id = PenaltyIdOf(entry, "r");
  EXPECT_TRUE(IsEntryId(entry.id)) << entry.id;
  EXPECT_NE(entry.id, PenaltyIdOf(entry, "other"));
  const auto read = ReadStoredEntry(entry.id, StoredText(entry));
  ASSERT_TRUE(read.entry) << read.error.message;
  EXPECT_EQ(*read.entry, entry);
  const auto sent = Read(StoredText(entry));
  EXPECT_EQ(ErrorOf(R"({"match":{},"effect":"block","penalty":{"step":1}})"), "none");
  ASSERT_FALSE(sent.entry && sent.entry->penalty);
  JsonDocument document;
  const auto json = document.Parse(R"({"match":{},"effect":"block"})");
  EXPECT_EQ(ReadEntry(entry.id, *json, {.now = kNow}).error.field, "id");
}

TEST(ReadEntry, NamesTheFieldOfAnError) {
  EXPECT_EQ(ErrorOf(R"([])"), ": must be an object");
  EXPECT_EQ(ErrorOf(R"({"effect":"block"})"), "match: is missing");
  EXPECT_EQ(ErrorOf(R"({"match":{}})"), "effect: is missing");
  EXPECT_EQ(ErrorOf(R"({"match":{},"effect":"block","expiresat":null})"),
            "expiresat: unknown field; did you mean `expires_at`?");
  EXPECT_EQ(ErrorOf(R"({"match":{},"effect":"block","effect":"allow"})"), "effect: is there twice");
  EXPECT_EQ(ErrorOf(R"({"match":{"ip":"10.0.0.1/8"},"effect":"block"})").substr(0, 10),
            "match.ip: ");
  EXPECT_EQ(ErrorOf(R"({"match":{"api_key":"sk_*"},"effect":"block"})"),
            "match.api_key: has a wildcard: write {\"equals\": …} for exactly this value, or "
            "{\"glob\": …}");
  EXPECT_EQ(ErrorOf(R"({"match":{"api_key":{"regex":"a"}},"effect":"block"})"),
            "match.api_key.regex: unknown field");
  EXPECT_EQ(ErrorOf(R"({"match":{"api_key":""},"effect":"block"})").substr(0, 14),
            "match.api_key:");
  EXPECT_EQ(ErrorOf(R"({"match":{"tenant":{"cidr":"10.0.0.0/8"}},"effect":"block"})"),
            "match.tenant: cidr is for the attribute `ip` only");
  EXPECT_EQ(ErrorOf(R"({"match":{},"effect":{"limit":"50 per month"}})").substr(0, 13),
            "effect.limit:");
  EXPECT_EQ(ErrorOf(R"({"match":{},"effect":{"limit":"0 per hour"}})"),
            "effect.limit: must be a whole number from 1; to let nothing pass, use \"block\"");
  EXPECT_EQ(ErrorOf(R"({"match":{},"effect":{"multiply":0}})"),
            "effect.multiply: must be a number above 0 and at most 1000000, with at most 6 "
            "decimals");
  EXPECT_EQ(ErrorOf(R"({"match":{},"effect":"block","status":404})"), "status: must be 403 or 429");
  EXPECT_EQ(ErrorOf(R"({"match":{},"effect":"allow","status":403})"),
            "status: is for the effect \"block\" only");
  EXPECT_EQ(ErrorOf(R"({"match":{},"effect":"block","expires_at":"2026-12-01T12:00:00Z"})"),
            "expires_at: is in the past");
  EXPECT_EQ(ErrorOf(R"({"match":{},"effect":"unlimited","limit_name":"a"})"),
            "rule: is missing: `limit_name` is a limit of it");
  EXPECT_EQ(ErrorOf(R"({"match":{},"effect":"block","reason":"a\u0007"})").substr(0, 7), "reason:");
  JsonDocument document;
  const auto json = document.Parse(R"({"match":{},"effect":"block"})");
  for (const char* const id : {"", "a/b", "..", "a b", "<x>"}) {
    EXPECT_EQ(ReadEntry(id, *json, {.now = kNow}).error.field, "id") << id;
  }
}

TEST(ReadEntry, BringsValuesToTheFormInWhichCallsAreCompared) {
  const auto result = Read(
      R"({"match":{"ip":"::ffff:10.0.0.1","host":"API.Example.com:443","method":"post"},"effect":"block"})");
  ASSERT_TRUE(result.entry) << result.error.message;
  EXPECT_EQ(MatchText(*result.entry), "host=api.example.com, ip=10.0.0.1, method=POST");
}

TEST(ReadEntry, StoresTheHashOfAKeyWhereKeysAreHashed) {
  const EntryDefaults hashed{
      .now = kNow, .hash_key = [](std::string_view key) { return "hash_of_" + std::string(key); }};
  EXPECT_EQ(
      MatchText(*Read(R"({"match":{"api_key":"sk_1","key":"k"},"effect":"block"})", hashed).entry),
      "api_key_hash=hash_of_sk_1, key=hash_of_k");
  EXPECT_EQ(Read(R"({"match":{"api_key":{"glob":"sk_*"}},"effect":"block"})", hashed).error.field,
            "match.api_key");
}

TEST(CheckEntry, NamesWhatIsMissing) {
  const auto rules = rules::Read("r.yaml", R"(
rules:
  - { id: search, limit: 10/s }
  - { id: chat, limits: { calls: 5/s, daily: 100/d } }
)");
  ASSERT_TRUE(rules.file);
  const auto error_of = [&](std::string_view text) {
    const auto entry = Read(text).entry;
    EXPECT_TRUE(entry) << text;
    const auto error = CheckEntry(*entry, *rules.file);
    return error ? error->field + ": " + error->message : std::string();
  };
  EXPECT_EQ(error_of(R"({"match":{},"effect":"unlimited","rule":"serch"})"),
            "rule: there is no rule `serch`; did you mean `search`?");
  EXPECT_EQ(error_of(R"({"match":{},"effect":{"limit":5},"rule":"search"})"), "");
  EXPECT_EQ(error_of(R"({"match":{},"effect":{"limit":5},"rule":"chat"})"),
            "limit_name: is missing: rule `chat` has several limits; give one of: calls, daily");
  EXPECT_EQ(error_of(R"({"match":{},"effect":{"limit":5},"rule":"chat","limit_name":"calls"})"),
            "");
  EXPECT_EQ(error_of(R"({"match":{},"effect":{"multiply":2},"rule":"chat"})"), "");
  EXPECT_EQ(error_of(R"({"match":{},"effect":{"limit":5},"rule":"chat","limit_name":"x"})"),
            "limit_name: rule `chat` has no limit `x`; it has: calls, daily");
}

TEST(FitsEveryCall, AreMatchersWithoutACondition) {
  EXPECT_TRUE(FitsEveryCall(*Read(R"({"match":{},"effect":"block"})").entry));
  EXPECT_TRUE(FitsEveryCall(*Read(R"({"match":{"ip":"0.0.0.0/0"},"effect":"block"})").entry));
  EXPECT_TRUE(FitsEveryCall(
      *Read(R"({"match":{"api_key":{"glob":"*"},"ip":"::/0"},"effect":"block"})").entry));
  EXPECT_FALSE(
      FitsEveryCall(*Read(R"({"match":{"api_key":{"glob":"a*"}},"effect":"block"})").entry));
  EXPECT_FALSE(FitsEveryCall(*Read(R"({"match":{"ip":"10.0.0.0/8"},"effect":"block"})").entry));
}

}  // namespace
}  // namespace sluice::match
