#include "simulate/trace_writer.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/reader.h"
#include "simulate/replay.h"
#include "simulate/trace_reader.h"
#include "simulate/traffic_sampler.h"

namespace sluice::simulate {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr WallTime kExportStart{seconds(1'800'000'000)};

constexpr const char* kExportedRules = R"(
tiers: { pro: { limit: 9/m }, free: { limit: 3/m } }
default_tier: free
keys: { "sk_pro_*": pro }
known_keys: ["sk_*"]
rules:
  - { id: client, algorithm: fixed_window }
  - { id: user, match: { endpoint: "/v1/*" }, per: user, algorithm: fixed_window, limit: 5/m }
  - { id: all, per: [], algorithm: fixed_window, limit: 150/m }
)";
// The same for traces with hashed keys, which no file knows.
constexpr const char* kRulesOfExport = R"(
tiers: { pro: { limit: 9/m }, free: { limit: 3/m } }
default_tier: free
rules:
  - { id: client, algorithm: fixed_window }
  - { id: user, match: { endpoint: "/v1/*" }, per: user, algorithm: fixed_window, limit: 5/m }
  - { id: all, per: [], algorithm: fixed_window, limit: 150/m }
)";

std::shared_ptr<const match::RuleSet> ExportedRules(const char* yaml) {
  rules::ReadResult read = rules::Read("rules.yaml", yaml);
  for (const config_text::Diagnostic& error : read.errors) {
    ADD_FAILURE() << config_text::Describe(error);
  }
  return match::RuleSet::Compile(std::move(*read.file));
}

TrafficSample SampleOfExport() {
  std::mt19937_64 random(11);
  TrafficSampler sampler({}, 1, kExportStart);
  LoopTrafficSampler& loop = *sampler.AddLoop();
  WallTime now = kExportStart;
  for (int i = 0; i < 3000; ++i) {
    now += milliseconds(random() % 300);
    const std::string number = std::to_string(random() % 8);
    const std::string keys[] = {"sk_pro_" + number, "sk_free_" + number, "unknown_" + number, ""};
    const std::string key = keys[random() % 4];
    const std::string ip = "192.0.2." + number;
    const std::string user = "us\"er\n" + number;
    std::vector<Attribute> attributes{{"ip", ip}, {"user", user}, {"cost", "x"}};
    if (!key.empty()) attributes.push_back({"api_key", key});
    if (random() % 2 == 0) attributes.push_back({"endpoint", "/v1/orders"});
    if (random() % 8 == 0) attributes.push_back({"tier", "invented"});
    loop.Record(attributes, 1 + static_cast<std::int64_t>(random() % 2), now);
  }
  return sampler.Take(now);
}

std::vector<bool> DecisionsOn(const TrafficSample& sample, const char* yaml) {
  auto replay = Replay::Create(ExportedRules(yaml), {.max_keys = 100'000});
  std::vector<bool> decisions;
  SampledCall call;
  for (std::size_t i = 0; i < sample.calls(); ++i) {
    sample.Read(i, call);
    decisions.push_back((*replay)->Evaluate(call.row, call.row.time).allowed);
  }
  return decisions;
}

std::vector<bool> DecisionsOnTrace(const std::string& trace, const char* yaml) {
  auto replay = Replay::Create(ExportedRules(yaml), {.max_keys = 100'000});
  std::vector<bool> decisions;
  TraceReader reader([&, at = std::size_t{0}](std::span<char> into) mutable {
    const std::size_t size = std::min(into.size(), trace.size() - at);
    std::memcpy(into.data(), trace.data() + at, size);
    at += size;
    return size;
  });
  while (reader.Next() == TraceReader::Item::kCall) {
    decisions.push_back((*replay)->Evaluate(reader.row(), reader.row().time).allowed);
  }
  EXPECT_EQ(reader.problem(), "");
  return decisions;
}

TEST(TraceWriterTest, APlainTraceGetsTheDecisionsOfTheSample) {
  const TrafficSample sample = SampleOfExport();
  const std::vector<bool> expected = DecisionsOn(sample, kExportedRules);
  ASSERT_THAT(expected, ::testing::Contains(true));
  ASSERT_THAT(expected, ::testing::Contains(false));
  EXPECT_EQ(DecisionsOnTrace(WriteTrace(sample, {.keys = KeyText::kPlain}), kExportedRules),
            expected);
}

TEST(TraceWriterTest, AHashedTraceGetsTheSameDecisionsAndHasNoKey) {
  const TrafficSample sample = SampleOfExport();
  const auto rules = ExportedRules(kExportedRules);
  const std::string trace = WriteTrace(sample, {.rules = rules.get()});
  EXPECT_THAT(trace, Not(HasSubstr("sk_")));
  EXPECT_THAT(trace, Not(HasSubstr("unknown_")));
  EXPECT_EQ(DecisionsOnTrace(trace, kRulesOfExport), DecisionsOn(sample, kExportedRules));
}

TEST(TraceWriterTest, HashesDependOnTheSecret) {
  const TraceRow row{.time = kExportStart, .duration = {}, .attributes = {{"api_key", "sk_1"}}};
  const auto line = [&](const std::string& secret) {
    std::string out;
    TraceWriter(TraceWriterOptions{.secret = secret}).Append(row, out);
    return out;
  };
  EXPECT_EQ(line("a"), line("a"));
  EXPECT_NE(line("a"), line("b"));
  EXPECT_NE(line(""), line(""));
}

TEST(TraceWriterTest, AHashOfTheServerIsNotWritten) {
  const TraceRow row{.time = kExportStart,
                     .duration = {},
                     .attributes = {{"api_key", "sk_1"}, {"api_key_hash", "sha256:0123"}}};
  std::string out;
  TraceWriter(TraceWriterOptions{}).Append(row, out);
  EXPECT_THAT(out, Not(HasSubstr("sha256")));
}

}  // namespace
}  // namespace sluice::simulate
