#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/admin/insight_query.h"
#include "api/admin/insight_services.h"
#include "api/admin/task_route.h"
#include "api/http/routes.h"
#include "api/http/stream.h"
#include "base/clock.h"
#include "base/json_writer.h"
#include "base/parse_number.h"

/// The denials of this node, as a list and as they happen: /admin/v1/denials.
namespace sluice::api {
namespace {

constexpr std::string_view kEventStream = "text/event-stream";
constexpr std::string_view kJsonLines = "application/x-ndjson";
// A response is held in memory until the client has read it. The newest denials are kept.
constexpr std::size_t kMostListBytes = std::size_t{8} << 20;
constexpr std::size_t kMaxReplay = 1000;
constexpr std::size_t kRoomAfterDropping = 8192;
constexpr Micros kMaxHeartbeat = std::chrono::seconds(10);
// A client connects again after that, and shows its token again.
constexpr Micros kMaxStreamTime = std::chrono::hours(1);

enum class DenialFormat : std::uint8_t { kEvents, kLines };

// Sends denials as they come. What the client does not read in time is dropped and counted.
class DenialStream final : public HttpStream {
 public:
  /// The services must outlive it.
  DenialStream(ServerServices& services, InsightServices& insight, DenialFilter filter,
               identity::PrincipalPointer principal, DenialReplay replay, DenialFormat format,
               Micros heartbeat)
      : services_(services),
        principal_(std::move(principal)),
        format_(format),
        heartbeat_(heartbeat) {
    subscription_ = insight.Watch(std::move(filter), *principal_, replay,
                                  [this](const DenialBatch& batch) { Deliver(batch); });
  }

  [[nodiscard]] bool is_watching() const { return subscription_ != nullptr; }

  void Start(StreamSink& sink) override {
    sink_ = &sink;
    began_ = last_write_ = SteadyClock::Now();
    // So that a client knows that it is connected, before there is anything to see.
    sink.Write(format_ == DenialFormat::kEvents ? "retry: 1000\n\n" : "\n");
  }

  void OnTimer(SteadyTime now) override {
    // A token that is revoked or expires shows nothing any more.
    principal_ = services_.admin().authenticator().Revalidate(principal_, services_.now());
    if (!principal_->Has(Role::kViewer) || now - began_ >= kMaxStreamTime) return sink_->End();
    if (now - last_write_ < heartbeat_) return;
    last_write_ = now;
    if (dropped_ == 0 || !WriteDropped()) {
      sink_->Write(format_ == DenialFormat::kEvents ? ": heartbeat\n\n" : "\n");
    }
  }

 private:
  void Deliver(const DenialBatch& batch) {
    if (sink_ == nullptr) return;
    dropped_ += batch.dropped;
    for (const auto& [sequence, json] : batch.denials) {
      if (dropped_ > 0 && !WriteDropped()) {
        ++dropped_;
        continue;
      }
      text_.clear();
      if (format_ == DenialFormat::kEvents) {
        text_.append("id: ").append(std::to_string(sequence)).append("\nevent: denial\ndata: ");
        text_.append(json).append("\n\n");
      } else {
        text_.append(json).append("\n");
      }
      if (!sink_->Write(text_)) ++dropped_;
    }
    if (dropped_ > 0) WriteDropped();
    last_write_ = SteadyClock::Now();
  }

  // Not into the last bytes: they would be full of such lines.
  bool WriteDropped() {
    if (sink_->room() < kRoomAfterDropping) return false;
    text_.clear();
    const std::string json = "{\"dropped\":" + std::to_string(dropped_) + "}";
    if (format_ == DenialFormat::kEvents) {
      text_.append("event: dropped\ndata: ").append(json).append("\n\n");
    } else {
      text_.append(json).append("\n");
    }
    if (!sink_->Write(text_)) return false;
    dropped_ = 0;
    return true;
  }

  ServerServices& services_;
  identity::PrincipalPointer principal_;
  const DenialFormat format_;
  const Micros heartbeat_;
  std::unique_ptr<DenialSubscription> subscription_;
  StreamSink* sink_ = nullptr;
  SteadyTime began_{};
  SteadyTime last_write_{};
  std::uint64_t dropped_ = 0;
  std::string text_;
};

void RunList(HttpExchange& exchange, DenialFilter filter, std::size_t last, std::uint64_t after) {
  RunInsightTask(exchange, [filter = std::move(filter), last, after,
                            principal = exchange.principal()](InsightReader& reader) {
    TaskReply reply;
    reply.content_type = kJsonLines;
    const auto& entries = reader.state.denials.entries();
    telemetry::ReadDecision read;
    // The newest that match, then in their order.
    std::vector<std::pair<std::uint64_t, std::string>> lines;
    std::size_t bytes = 0;
    for (std::size_t i = entries.size();
         i-- > 0 && lines.size() < last && bytes < kMostListBytes;) {
      if (entries[i].sequence <= after) break;
      telemetry::ReadRecord(entries[i].bytes, read);
      if (!filter.Matches(read.record)) continue;
      std::string& line = lines.emplace_back(entries[i].sequence, std::string()).second;
      reader.denials.Append(read.record, entries[i].sequence, principal, line);
      bytes += line.size() + 1;
    }
    for (std::size_t i = lines.size(); i-- > 0;) reply.body.append(lines[i].second).append("\n");
    // Where the next request goes on, and what this node could not record.
    JsonWriter json(reply.body);
    json.BeginObject();
    json.Key("last").Uint(reader.state.denials.last());
    json.Key("dropped").Uint(reader.state.denials.dropped());
    json.EndObject();
    reply.body += '\n';
    return reply;
  });
}

}  // namespace

void RunDenials(HttpExchange& exchange) {
  InsightQuery query(exchange, {"rule", "key", "follow", "last", "after"});
  DenialFilter filter;
  query.Text("rule", filter.rule);
  query.Text("key", filter.key);
  std::size_t follow = 1;
  query.Number("follow", 0, 1, follow);
  std::size_t last = follow == 1 ? 0 : telemetry::DecisionRing::kRecords;
  query.Number("last", 0, follow == 1 ? kMaxReplay : telemetry::DecisionRing::kRecords, last);
  std::size_t after = 0;
  query.Number("after", 0, std::numeric_limits<std::int64_t>::max(), after);
  if (query.refused()) return;
  // An event source that connects again goes on where it was.
  if (const wire::HttpHeader* const header = exchange.request.Find("last-event-id")) {
    const auto id = ParseNumber<std::uint64_t>(header->value);
    if (id && *id > after) {
      after = *id;
      last = std::max(last, kMaxReplay);
    }
  }
  InsightServices* const insight = exchange.admin().insight();
  if (insight == nullptr) return exchange.Refuse({.code = ProblemCode::kNotFound});
  if (follow == 0) return RunList(exchange, std::move(filter), last, after);
  const bool events =
      exchange.request.Get(wire::HttpName::kAccept).find(kEventStream) != std::string_view::npos;
  const Micros idle = exchange.services().idle_timeout();
  const Micros heartbeat = idle > Micros{0} ? std::min(kMaxHeartbeat, idle / 3) : kMaxHeartbeat;
  auto stream = std::make_unique<DenialStream>(
      exchange.services(), *insight, std::move(filter), exchange.authenticated,
      DenialReplay{.most = last, .after = after},
      events ? DenialFormat::kEvents : DenialFormat::kLines, heartbeat);
  if (!stream->is_watching()) {
    return exchange.Refuse({.code = ProblemCode::kBusy,
                            .detail = "as many clients watch denials as may: denials.max_viewers"});
  }
  exchange.BeginStream(events ? kEventStream : kJsonLines, std::move(stream));
}

}  // namespace sluice::api
