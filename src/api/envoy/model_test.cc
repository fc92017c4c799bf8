// Random requests, judged by the service and by a slow model of what docs/envoy.md promises.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "api/testing/envoy_caller.h"

namespace sluice::api {
namespace {

using testing::EnvoyCaller;
using testing::HeardReply;
using testing::HeardStatus;
using testing::RequestOf;
using testing::SentDescriptor;

constexpr std::uint64_t kModelOk = 1;
constexpr std::uint64_t kModelOver = 2;

enum class Kind { kNormal, kShadow, kQuota, kUnlimited };

struct Descriptor {
  std::string_view key;
  std::uint64_t limit;
  std::uint64_t window;  // In seconds.
  Kind kind = Kind::kNormal;
  bool count_denied = false;
};

constexpr std::array kDescriptors = std::to_array<Descriptor>({
    {"few", 2, 60},
    {"many", 20, 3600},
    {"quick", 5, 1},
    {"counted", 4, 60, Kind::kNormal, true},
    {"watched", 3, 60, Kind::kShadow},
    {"quota", 3, 60, Kind::kQuota},
    {"other_quota", 4, 60, Kind::kQuota, true},
    {"free", 0, 60, Kind::kUnlimited},
});

std::string FileText() {
  const std::map<std::uint64_t, std::string> units = {
      {1, "second"}, {60, "minute"}, {3600, "hour"}};
  std::string text = "domain: d\ndescriptors:\n";
  for (const Descriptor& one : kDescriptors) {
    text.append("  - key: ").append(one.key).append("\n");
    if (one.kind == Kind::kShadow) text += "    shadow_mode: true\n";
    if (one.kind == Kind::kQuota) text += "    quota_mode: true\n";
    if (one.count_denied) text += "    count_denied: true\n";
    text += one.kind == Kind::kUnlimited
                ? "    rate_limit: { unlimited: true }\n"
                : "    rate_limit: { unit: " + units.at(one.window) +
                      ", requests_per_unit: " + std::to_string(one.limit) + " }\n";
  }
  return text;
}

class Model {
 public:
  HeardReply Judge(const std::vector<SentDescriptor>& sent, std::uint32_t addend,
                   std::uint64_t now_seconds) {
    now_ = now_seconds;
    std::vector<Use> uses;
    for (const SentDescriptor& one : sent) uses.push_back(UseOf(one, addend));
    std::map<Counter*, std::uint64_t> pending;
    for (Use& use : uses) {
      if (use.counter == nullptr || use.gives_back) continue;
      const std::uint64_t wanted = std::max<std::uint64_t>(use.hits, 1);
      std::uint64_t& before = pending[use.counter];
      use.over = use.counter->used + before + wanted > use.of->limit;
      if (!use.over && use.of->kind != Kind::kShadow) before += use.hits;
    }
    const bool denied = IsDenied(uses);
    HeardReply reply{.code = denied ? kModelOver : kModelOk};
    reply.statuses.resize(uses.size());
    for (std::size_t i = 0; i < uses.size(); ++i) {
      if (!uses[i].gives_back) reply.statuses[i] = Take(uses[i], denied);
    }
    for (std::size_t i = 0; i < uses.size(); ++i) {
      if (uses[i].gives_back) reply.statuses[i] = GiveBack(uses[i]);
    }
    return reply;
  }

 private:
  struct Counter {
    std::uint64_t window = 0;
    std::uint64_t used = 0;
  };
  struct Use {
    const Descriptor* of = nullptr;
    Counter* counter = nullptr;
    std::uint64_t hits = 1;
    bool gives_back = false;
    bool over = false;
  };

  Use UseOf(const SentDescriptor& sent, std::uint32_t addend) {
    Use use{.hits = sent.hits    ? *sent.hits
                    : addend > 0 ? addend
                                 : 1,
            .gives_back = sent.gives_back};
    for (const Descriptor& one : kDescriptors) {
      if (sent.entries.size() != 1 || sent.entries[0].first != one.key) continue;
      use.of = &one;
      if (one.kind == Kind::kUnlimited) break;
      use.counter = &counters_[{std::string(one.key), sent.entries[0].second}];
      const std::uint64_t window = now_ / one.window;
      if (use.counter->window != window) *use.counter = {.window = window};
    }
    return use;
  }

  static bool IsDenied(const std::vector<Use>& uses) {
    std::size_t quotas = 0;
    std::size_t quotas_over = 0;
    for (const Use& use : uses) {
      if (use.counter == nullptr || use.gives_back) continue;
      if (use.of->kind == Kind::kNormal && use.over) return true;
      if (use.of->kind != Kind::kQuota) continue;
      ++quotas;
      quotas_over += use.over ? 1U : 0U;
    }
    return quotas > 0 && quotas == quotas_over;
  }

  HeardStatus Take(const Use& use, bool denied) const {
    if (use.counter != nullptr) {
      std::uint64_t& used = use.counter->used;
      if (!denied && !use.over) used += use.hits;
      if (denied && use.of->count_denied) {
        used = std::max(used, std::min(used + use.hits, use.of->limit));
      }
    }
    return StatusOf(use, use.over && use.of->kind != Kind::kShadow);
  }

  HeardStatus GiveBack(const Use& use) const {
    if (use.counter != nullptr) use.counter->used -= std::min(use.counter->used, use.hits);
    return StatusOf(use, false);
  }

  HeardStatus StatusOf(const Use& use, bool over) const {
    HeardStatus status{.code = over ? kModelOver : kModelOk};
    if (use.counter == nullptr) {
      if (use.of != nullptr) status.remaining = 4294967295U;
      return status;
    }
    status.has_limit = true;
    status.requests_per_unit = use.of->limit;
    status.remaining = use.of->limit - std::min(use.of->limit, use.counter->used);
    status.reset_seconds = use.of->window - now_ % use.of->window;
    return status;
  }

  std::uint64_t now_ = 0;
  std::map<std::pair<std::string, std::string>, Counter> counters_;
};

std::string Describe(const HeardReply& reply) {
  std::string text = reply.error + "code " + std::to_string(reply.code);
  for (const HeardStatus& status : reply.statuses) {
    text += "\n  code " + std::to_string(status.code) + " limit " +
            std::to_string(status.requests_per_unit) + " left " + std::to_string(status.remaining) +
            " reset " + (status.reset_seconds ? std::to_string(*status.reset_seconds) : "none");
  }
  return text;
}

SentDescriptor AnyDescriptor(std::mt19937_64& random) {
  const std::size_t which = random() % (kDescriptors.size() + 1);
  const std::string key(which < kDescriptors.size() ? kDescriptors[which].key : "absent");
  SentDescriptor sent{.entries = {{key, random() % 3 == 0 ? "x" : "y"}}};
  if (random() % 3 == 0) sent.hits = random() % 5;
  sent.gives_back = random() % 8 == 0;
  return sent;
}

TEST(EnvoyModelTest, TheServiceDecidesAsTheModelDoes) {
  const auto seed = static_cast<std::uint64_t>(::testing::UnitTest::GetInstance()->random_seed());
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  testing::DelayedStore store;
  testing::FakeServices services(store);
  const FileContent file{.path = "d.yaml", .content = FileText()};
  ASSERT_EQ(LoadConfig(services.envoy_config, {&file, 1}, {}, services.now()).outcome,
            LoadOutcome::kActivated);
  services.envoy_state.emplace(services.envoy_config, EnvoyOptions{});
  EnvoyCaller caller(services);
  Model model;
  for (int step = 0; step < 20'000; ++step) {
    if (random() % 4 == 0) services.clock.Advance(std::chrono::milliseconds(random() % 20'000));
    std::vector<SentDescriptor> sent(1 + random() % 4);
    for (SentDescriptor& one : sent) one = AnyDescriptor(random);
    const auto addend = static_cast<std::uint32_t>(random() % 3);
    const auto now = std::chrono::floor<std::chrono::seconds>(services.now().time_since_epoch());
    const HeardReply expected = model.Judge(sent, addend, static_cast<std::uint64_t>(now.count()));
    const HeardReply heard = caller.Call(RequestOf("d", sent, addend));
    ASSERT_EQ(Describe(heard), Describe(expected)) << "at step " << step;
  }
}

}  // namespace
}  // namespace sluice::api
