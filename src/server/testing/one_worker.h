#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/testing/fake_services.h"
#include "api/testing/random_pipeline.h"
#include "net/loop.h"
#include "server/shared.h"
#include "server/worker.h"

namespace sluice::server::testing {

class NullTransport final : public transport::Transport {
 public:
  void OutputReady() override {}
};

inline constexpr std::string_view kEdge = R"(
domain: edge
descriptors:
  - key: remote_address
    rate_limit: { unit: second, requests_per_unit: 1000000 }
  - key: path
    rate_limit: { unit: hour, requests_per_unit: 20 }
)";

/// One loop's worker, without sockets. Over a store in memory its loop never turns: time stands
/// still.
class OneWorker {
 public:
  explicit OneWorker(std::string_view rules, std::optional<redis::Options> redis = {},
                     settings::Config config = {})
      : shared_(std::move(config)) {
    if (!shared_.config.otlp.endpoint.empty()) {
      shared_.span_budget = std::make_unique<telemetry::SpanBudget>(
          static_cast<std::uint32_t>(shared_.config.otlp.spans_per_second));
    }
    shared_.redis = std::move(redis);
    if (shared_.redis) shared_.leases = std::make_unique<lease::NodeLeases>();
    shared_.memory = *store::MemoryStore::Create({.max_keys = 10'000});
    shared_.identity.Load("", "", WallTime{}, []() -> LiveCandidate<identity::Identifier> {
      return {.value =
                  std::make_shared<const identity::Identifier>(*identity::Identifier::Make({}))};
    });
    LoadRules(shared_.rules, "rules.yaml", rules, WallTime{}, [this](rules::RuleFile& read) {
      for (rules::Rule& rule : read.rules) shared_.NumberLimits(rule);
    });
    const FileContent file{.path = "edge.yaml", .content = std::string(kEdge)};
    LoadConfig(shared_.envoy, {&file, 1},
               {.prepare = [this](rules::Rule& rule) { shared_.NumberLimits(rule); }}, WallTime{});
    auto admin = std::make_unique<api::testing::FakeServices>(*shared_.memory);
    admin->token = api::testing::kPipelineToken;
    worker_ = std::make_unique<Worker>(loop_, shared_, std::move(admin));
    resp = worker_->NewRespSession(transport_, {});
    http = worker_->NewHttpSession(transport_, {});
  }

  api::ServerServices& services() { return *worker_; }
  /// Puts these live entries into force.
  void SetEntries(std::vector<match::Entry> entries) {
    match::EntryTable table;
    for (match::Entry& entry : entries) table.Put(std::move(entry));
    shared_.entries.Load("", "", WallTime{}, [&]() -> LiveCandidate<match::EntrySet> {
      return {.value = table.Snapshot()};
    });
  }
  net::Loop& loop() { return loop_; }

  std::unique_ptr<transport::Session> resp;
  std::unique_ptr<transport::Session> http;

 private:
  net::Loop loop_;
  Shared shared_;
  NullTransport transport_;
  std::unique_ptr<Worker> worker_;
};

}  // namespace sluice::server::testing
