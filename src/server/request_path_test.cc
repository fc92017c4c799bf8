// A request's way through sessions, limiter and the memory store, without sockets. A program of its
// own: it counts what is allocated.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "api/grpc/loop.h"
#include "api/grpc/methods.h"
#include "api/testing/random_pipeline.h"
#include "base/testing/allocations.h"
#include "server/testing/one_worker.h"
#include "wire/proto_writer.h"

namespace sluice::server {
namespace {

using testing::OneWorker;

TEST(RequestPath, APipelineIsAnsweredAsIfItsCommandsCameOneByOne) {
  const auto seed = static_cast<std::uint64_t>(::testing::UnitTest::GetInstance()->random_seed());
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 100; ++round) {
    OneWorker one_by_one(api::testing::kPipelineRules);
    OneWorker together(api::testing::kPipelineRules);
    std::string bytes;
    for (int i = 0; i < 100; ++i) {
      const std::string command = api::testing::RandomCommand(random);
      one_by_one.resp->Receive(command);
      bytes += command;
    }
    together.resp->Receive(bytes);
    ASSERT_EQ(together.resp->output(), one_by_one.resp->output());
    ASSERT_EQ(together.resp->closing(), one_by_one.resp->closing());
  }
}

// Calls at /search are denied soon, others never.
constexpr std::string_view kManyAndFew = R"(
rules:
  - { id: api, limit: 1000000/s }
  - { id: search, match: { endpoint: "/search" }, limits: [20/s, 100/m] }
)";

void ExpectNoAllocation(transport::Session& session, std::string_view requests) {
  const auto ask = [&](int times) {
    for (int i = 0; i < times; ++i) {
      session.Receive(requests);
      session.output().clear();
    }
  };
  ask(50);  // Enough for the first denials, which make room for their bodies.
  const std::size_t before = Allocations();
  ask(200);
  EXPECT_EQ(Allocations(), before) << requests.substr(0, 200);
}

match::Entry EntryOf(std::string id, std::string attribute, std::string value,
                     match::EntryEffect effect) {
  match::Entry entry;
  entry.id = std::move(id);
  entry.match.push_back({.attribute = std::move(attribute), .value = std::move(value)});
  entry.effect = effect;
  entry.limit = 50;
  entry.factor = {.digits = 2, .scale = 0};
  return entry;
}

TEST(RequestPath, LiveEntriesAllocateNothingInTheSteadyState) {
  using enum match::EntryEffect;
  OneWorker worker(kManyAndFew);
  std::vector<match::Entry> entries = {
      EntryOf("a", "api_key", "blocked", kBlock),   EntryOf("b", "api_key", "allowed", kAllow),
      EntryOf("c", "api_key", "free", kUnlimited),  EntryOf("d", "api_key", "limited", kLimit),
      EntryOf("e", "api_key", "double", kMultiply), EntryOf("f", "key", "blocked", kBlock),
      EntryOf("g", "key", "double", kMultiply)};
  entries.push_back(EntryOf("h", "ip", "10.0.0.0/8", kMultiply));
  entries.back().match[0].kind = rules::PatternKind::kCidr;
  entries.push_back(EntryOf("i", "api_key", "some*", kMultiply));
  entries.back().match[0].kind = rules::PatternKind::kGlob;
  worker.SetEntries(std::move(entries));
  for (const std::string_view key :
       {"blocked", "allowed", "free", "limited", "double", "some-longer-key", "another-key"}) {
    ExpectNoAllocation(*worker.resp, "SLUICE.CHECK api_key " + std::string(key) +
                                         " ip 10.0.0.1 endpoint /search method GET\r\n");
    ExpectNoAllocation(*worker.resp, "CL.THROTTLE " + std::string(key) + " 15 30 60\r\n");
    ExpectNoAllocation(*worker.http, "GET /api/v1/rate-limit/check?key=" + std::string(key) +
                                         "&endpoint=/search HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
}

TEST(RequestPath, CommandsAllocateNothingInTheSteadyState) {
  OneWorker worker(kManyAndFew);
  for (const std::string_view command :
       {"CL.THROTTLE some:longer:key:of:a:client 15 30 60\r\n",
        "SLUICE.CHECK api_key some-longer-key-of-a-client endpoint / method GET\r\n",
        "SLUICE.CHECK api_key some-longer-key-of-a-client endpoint /search method GET\r\n",
        "SLUICE.PEEK api_key some-longer-key-of-a-client endpoint /search method GET\r\n"}) {
    std::string pipeline;
    for (int i = 0; i < 40; ++i) pipeline += command;
    ExpectNoAllocation(*worker.resp, command);
    ExpectNoAllocation(*worker.resp, pipeline);
  }
}

TEST(RequestPath, TracedCallsAllocateNothingInTheSteadyState) {
  for (const std::size_t budget : {5, 100'000}) {  // Beyond it, and within it until memory is full.
    settings::Config config;
    config.otlp.endpoint = "http://127.0.0.1:4318";
    config.otlp.sampler = telemetry::TraceSampler::kAlwaysOn;
    config.otlp.spans_per_second = budget;
    OneWorker worker(kManyAndFew, {}, config);
    ExpectNoAllocation(
        *worker.resp, "SLUICE.CHECK api_key some-longer-key-of-a-client endpoint / method GET\r\n");
    ExpectNoAllocation(
        *worker.http,
        "GET /api/v1/rate-limit/check?key=some-longer-key-of-a-client HTTP/1.1\r\nHost: h\r\n"
        "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n\r\n");
  }
}

TEST(RequestPath, HttpChecksAllocateNothingInTheSteadyState) {
  OneWorker worker(kManyAndFew);
  for (const std::string_view request :
       {"GET /api/v1/rate-limit/check?key=some-longer-key-of-a-client HTTP/1.1\r\n"
        "Host: localhost:8080\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n\r\n",
        "GET /api/v1/rate-limit/check?key=some-longer-key-of-a-client&endpoint=/search HTTP/1.1\r\n"
        "Host: localhost:8080\r\n\r\n",
        "GET /api/v1/rate-limit/remaining?key=some-longer-key-of-a-client HTTP/1.1\r\n"
        "Host: localhost:8080\r\n\r\n",
        "GET /api/ping HTTP/1.1\r\nHost: localhost:8080\r\n"
        "X-API-Key: some-other-key-of-a-client-that-is-long\r\n\r\n",
        "GET /v1/auth HTTP/1.1\r\nHost: localhost:8080\r\nX-Forwarded-Method: GET\r\n"
        "X-Forwarded-Uri: https://api.example/a/%62/../c?page=2\r\nX-Forwarded-For: 2001:db8::1\r\n"
        "X-API-Key: "
        "a-credential-that-is-long-enough-to-be-known-by-nothing-but-its-hash\r\n\r\n"}) {
    std::string pipeline;
    for (int i = 0; i < 40; ++i) pipeline += request;
    ExpectNoAllocation(*worker.http, request);
    ExpectNoAllocation(*worker.http, pipeline);
  }
}

// A message of Envoy's, with one descriptor for each of these keys.
std::string RateLimitRequest(std::initializer_list<std::string_view> keys) {
  std::string message;
  wire::ProtoWriter writer(message);
  writer.Bytes(1, "edge");
  for (const std::string_view key : keys) {
    const auto descriptor = writer.Begin(2);
    const auto entry = writer.Begin(1);
    writer.Bytes(1, key).Bytes(2, "a-value-that-is-longer-than-a-short-string");
    writer.End(entry);
    writer.End(descriptor);
  }
  return message;
}

TEST(RequestPath, EnvoysChecksAllocateNothingInTheSteadyState) {
  OneWorker worker(kManyAndFew);
  api::GrpcLoop loop(worker.services(), {});
  const api::Peer peer;
  const auto ask = [&](std::string_view message, int times) {
    for (int i = 0; i < times; ++i) {
      auto call = loop.Take();
      call->peer = &peer;
      api::AskShouldRateLimit(*call, message);
      for (std::size_t at = 0; at < call->size(); ++at) {
        worker.services().limiter().Decide(call->part(at).check, worker.services().now());
        call->on_decided(call->part(at));
      }
      if (call->size() > 0) call->answer(*call);
      ASSERT_FALSE(call->reply.empty());
      loop.GiveBack(std::move(call));
    }
  };
  for (const std::string& message :
       {RateLimitRequest({"remote_address"}), RateLimitRequest({"remote_address", "path"}),
        RateLimitRequest({"absent"})}) {
    ask(message, 40);  // The last are over the limit of a path.
    const std::size_t before = Allocations();
    ask(message, 200);
    EXPECT_EQ(Allocations(), before);
  }
}

}  // namespace
}  // namespace sluice::server
