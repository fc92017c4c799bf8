// How a gRPC session begins, grows old and ends.

#include <utility>

#include "api/grpc/session.h"

namespace sluice::api {
namespace {

using wire::GrpcStatus;
using wire::Http2Abuse;

constexpr std::uint64_t kAliveNumber = 1;
constexpr std::uint64_t kGoodbyeNumber = 2;
// For the answer to a goodbye. What a client sent before it heard of it is on its way so long.
constexpr Micros kGoodbyeTime = std::chrono::seconds(1);
// For answers that a client does not take, though its connection does.
constexpr Micros kTakingTime = std::chrono::seconds(30);

// Of what has arrived, between two looks at what the session may still do in this turn.
constexpr std::size_t kPiece = std::size_t{4} << 10;
// Memory of nghttp2 and the session for an open stream, without its messages.
constexpr std::size_t kBytesPerStream = 1024;

constexpr std::string_view kNotHttp2 =
    "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/plain\r\n"
    "Content-Length: 53\r\n\r\nThis port speaks gRPC: HTTP/2 with prior knowledge.\r\n";

bool Over(SteadyTime since, Micros limit, SteadyTime now) {
  return limit > Micros{0} && now - since >= limit;
}

}  // namespace

GrpcSession::GrpcSession(GrpcLoop& loop, transport::Transport& transport, Peer peer)
    : CallSession(transport, loop.batch(), ReplyOrder::kAny),
      loop_(loop),
      peer_(std::move(peer)),
      http2_(*this,
             {.max_streams = static_cast<std::uint32_t>(loop.options().max_streams),
              .max_header_bytes = loop.options().max_header_bytes},
             loop.memory()),
      age_(loop.NextAge()) {}

GrpcSession::~GrpcSession() {
  for (GrpcStream* const stream : open_) loop_.GiveBack(std::unique_ptr<GrpcStream>(stream));
}

void GrpcSession::Receive(std::string_view bytes) {
  if (closing_) return;
  heard_ = true;
  if (!backlog_.empty()) {
    backlog_.Add(bytes);
    return ReadBacklog();
  }
  Read(bytes);
  if (!closing_) backlog_.Add(bytes);
}

void GrpcSession::ReadBacklog() {
  backlog_.Take([this](std::string_view& rest) {
    Read(rest);
    if (closing_) rest = {};
  });
}

// Takes a piece at a time: nghttp2 takes all that it is given, and a piece may hold many calls.
void GrpcSession::Read(std::string_view& bytes) {
  BeginWork();
  while (!bytes.empty() && http2_.end() == wire::Http2Session::End::kNone) {
    if (output_.size() >= kMaxOutput) pause_ = transport::PauseReason::kOutput;
    if (pause_ != transport::PauseReason::kNone || !MayRun(batched())) break;
    const std::string_view piece = bytes.substr(0, kPiece);
    bytes.remove_prefix(piece.size());
    http2_.Receive(piece);
  }
  DecideBatch();
  Pump();
}

bool GrpcSession::in_request() const {
  return pause_ == transport::PauseReason::kNone && http2_.in_headers();
}

std::size_t GrpcSession::held_bytes() const {
  return output_.capacity() + backlog_.held() + held_ + held_bodies_ +
         open_.size() * kBytesPerStream + calls_under_way() * sizeof(CheckCall::Part);
}

void GrpcSession::Resume() {
  if (!closing_) ReadBacklog();
}

// Sends what there is, and runs what waited for that.
void GrpcSession::Pump() {
  using End = wire::Http2Session::End;
  if (closing_) return;
  bool sent_all = true;
  while (http2_.end() != End::kNotHttp2) {
    sent_all = http2_.Send(output_, kMaxOutput);
    const bool goes_on = sent_all && http2_.end() == End::kNone && HasRoom() &&
                         !waiting_for_room_.empty() && pause_ != transport::PauseReason::kStore &&
                         !transport().share().used();
    if (!goes_on) break;
    RunWaiting();
  }
  if (!sent_all) {
    pause_ = transport::PauseReason::kOutput;
  } else if (HasRoom() && !waiting_for_room_.empty() && pause_ != transport::PauseReason::kStore) {
    pause_ = transport::PauseReason::kTurn;
  } else if (pause_ == transport::PauseReason::kOutput) {
    pause_ = backlog_.empty() ? transport::PauseReason::kNone : transport::PauseReason::kTurn;
  }
  if (http2_.end() == End::kNone) return;
  Close();
  if (http2_.end() == End::kDone) return;
  if (http2_.end() == End::kNotHttp2) output_ += kNotHttp2;
  CallCounters& counters = loop_.services().counters();
  counters.protocol_errors[Protocol::kGrpc].Add();
  if (http2_.end() == End::kAbuse) counters.http2_abuses[http2_.abuse()].Add();
}

void GrpcSession::Close() {
  closing_ = true;
  pause_ = transport::PauseReason::kNone;
}

// Watchers are notified before the connection drains.
void GrpcSession::Drain() {
  for (GrpcStream* const stream : open_) {
    if (stream->watch) Poll(*stream);
  }
  Leave();
  Pump();
}

// In two steps, so that no call is lost: until the client has heard of it, calls are answered.
void GrpcSession::Leave() {
  if (leaving_ != Leaving::kNo) return;
  leaving_ = Leaving::kSaid;
  http2_.SendGoAway(kGoodbyeNumber);
}

void GrpcSession::OnPong(std::uint64_t number) {
  if (number == kGoodbyeNumber && leaving_ == Leaving::kSaid) TakeNoMore();
}

void GrpcSession::TakeNoMore() {
  leaving_ = Leaving::kLast;
  http2_.TakeNoMore();
  for (GrpcStream* const stream : open_) {
    const bool is_open_ended =
        stream->method != nullptr && stream->method->kind != GrpcKind::kUnary;
    if (is_open_ended) Refuse(*stream, GrpcStatus::kUnavailable, "the connection is ending");
  }
}

void GrpcSession::OnTimer(SteadyTime now) {
  if (closing_) return;
  if (!began_) began_ = now_ = idle_since_ = quiet_since_ = now;
  http2_.Passed(now - now_);
  now_ = now;
  CheckStreams(now);
  CheckAge(now);
  CheckSilence(now);
  Pump();
}

void GrpcSession::CheckStreams(SteadyTime now) {
  for (GrpcStream* const stream : open_) {
    if (stream->since == SteadyTime{}) stream->since = now;  // It came before the first look.
    if (stream->sent != stream->seen_sent) stream->since = now;
    stream->seen_sent = stream->sent;
    if (stream->watch) Poll(*stream);
    const bool is_answered = stream->body_ended || stream->refused;
    if (is_answered || !stream->body.empty()) {
      if (Over(stream->since, kTakingTime, now)) return http2_.EndFor(Http2Abuse::kSlowReader);
    } else if (!stream->request_ended && Over(stream->since, TimeFor(*stream), now)) {
      Refuse(*stream, GrpcStatus::kDeadlineExceeded, "the message took too long to come");
    }
  }
}

// In a dialogue there may be pauses between messages.
Micros GrpcSession::TimeFor(const GrpcStream& stream) const {
  const bool pauses = stream.method != nullptr && stream.method->kind == GrpcKind::kDialogue &&
                      !stream.reader.in_message();
  return pauses ? loop_.options().idle_timeout : loop_.options().request_timeout;
}

void GrpcSession::CheckAge(SteadyTime now) {
  const GrpcOptions& options = loop_.options();
  const bool is_old = Over(*began_, age_, now);
  const bool is_idle = open_.empty() && Over(idle_since_, options.idle_timeout, now);
  if (is_old || is_idle) Leave();
  if (leaving_ == Leaving::kNo) return;
  if (!left_) left_ = now;
  if (leaving_ == Leaving::kSaid && now - *left_ >= kGoodbyeTime) TakeNoMore();
  // A server that drains has its own deadline.
  if (is_old && Over(*left_, options.max_connection_age_grace, now)) Close();
}

// Finds out whether a client that says nothing is still there.
void GrpcSession::CheckSilence(SteadyTime now) {
  const GrpcOptions& options = loop_.options();
  if (std::exchange(heard_, false)) {
    quiet_since_ = now;
    pinged_.reset();
  } else if (pinged_) {
    if (Over(*pinged_, options.keepalive_timeout, now)) Close();
  } else if (Over(quiet_since_, options.keepalive_interval, now)) {
    pinged_ = now;
    http2_.Ping(kAliveNumber);
  }
}

}  // namespace sluice::api
