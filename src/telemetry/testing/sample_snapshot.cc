#include "telemetry/testing/sample_snapshot.h"

#include <chrono>

namespace sluice::telemetry::testing {

using std::chrono::microseconds;

MetricsSnapshot SampleSnapshot() {
  RuleIds ids;
  LoopCounters one(ids);
  LoopCounters other(ids);
  const RuleSeries login = ids.Intern("login", Algorithm::kFixedWindow);
  const RuleSeries search = ids.Intern("search \"\\\n", Algorithm::kTokenBucket);

  one.CountLimit(login, Allowed::kNo);
  one.CountLimit(search, Allowed::kYes);
  other.CountLimit(search, Allowed::kYes);
  other.CountShadowDenial(search);
  one.CountCall(Protocol::kHttp, CallOutcome::kDenied);
  one.CountCall(Protocol::kHttp, CallOutcome::kAllowed);
  other.CountCall(Protocol::kResp, CallOutcome::kAllowed);
  one.RecordCheck(Algorithm::kTokenBucket, Allowed::kYes, microseconds(3));
  other.RecordCheck(Algorithm::kTokenBucket, Allowed::kYes, microseconds(300'000));
  other.RecordStorage(microseconds(700));
  one.CountStorageError(StoreError::kTimeout);
  one.CountDegraded(FailureMode::kOpen);
  other.CountListHit(List::kDeny);
  other.CountProtocolError(Protocol::kResp);
  other.CountAbuse(Http2Abuse::kPings);
  one.ConnectionOpened(Protocol::kHttp);
  one.ConnectionOpened(Protocol::kHttp);
  one.ConnectionClosed(Protocol::kHttp);
  one.CountRefused(Protocol::kHttp, Refusal::kMaxPerAddress);
  other.CountBoundExceeded(Protocol::kResp, Bound::kOutputBuffer);

  MetricsSnapshot snapshot;
  const LoopCounters* const loops[] = {&one, &other};
  ReadLoops(ids, loops, snapshot);
  snapshot.keys = {.active = 12, .bytes = 400, .evicted = 0, .expired = 3, .refused = 1};
  snapshot.redis = {.connected = 2, .connects = 3, .disconnects = 1, .calls = 9, .in_flight = 4};
  snapshot.tls.push_back(
      {.protocol = Protocol::kResp,
       .broken = 2,
       .certificate_expires = std::chrono::sys_seconds(std::chrono::seconds(1'800'000'000)),
       .reloads_succeeded = 3,
       .reloads_failed = 1});
  snapshot.tls.back().handshakes[TlsHandshake::kNotTls] = 4;
  snapshot.rules = {.version = "7",
                    .hash = "5f2c",
                    .active = 2,
                    .overflowed = 0,
                    .loaded_at = std::chrono::sys_seconds(std::chrono::seconds(1'700'000'000)),
                    .reloads_succeeded = 5,
                    .reloads_failed = 1};
  snapshot.envoy =
      EnvoySnapshot{.version = "2",
                    .hash = "a1b2",
                    .domains = 3,
                    .limits = 40,
                    .loaded_at = std::chrono::sys_seconds(std::chrono::seconds(1'700'000'001)),
                    .reloads_succeeded = 2,
                    .reloads_failed = 1};
  snapshot.enforcement = Enforcement::kShadow;
  snapshot.ready = true;
  snapshot.threads = 2;
  snapshot.build = {.version = "0.1.0", .revision = "abc", .compiler = "GCC 12"};
  snapshot.process = ProcessSnapshot{.cpu = microseconds(1'250'000),
                                     .resident_bytes = 10'000'000,
                                     .virtual_bytes = 20'000'000,
                                     .open_fds = 9,
                                     .max_fds = 1024,
                                     .start_time_seconds = 1'700'000'000.25};
  snapshot.log.lines[LogLevel::kWarn] = 6;
  snapshot.log.dropped = 2;
  return snapshot;
}

}  // namespace sluice::telemetry::testing
