// How a gRPC session begins, grows old and ends.

#include <utility>

#include "api/grpc_session.h"

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

constexpr std::string_view kNotHttp2 =
    "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/plain\r\n"
    "Content-Length: 53\r\n\r\nThis port speaks gRPC: HTTP/2 with prior knowledge.\r\n";

bool Over(SteadyTime since, Micros limit, SteadyTime now) {
  return limit > Micros{0} && now - since >= limit;
}

}  // namespace

GrpcSession::GrpcSession(GrpcLoop& loop, SessionHost& carrier, Peer peer)
    : loop_(loop),
      carrier_(carrier),
      peer_(std::move(peer)),
      http2_(*this,
             {.max_streams = static_cast<std::uint32_t>(loop.options().max_streams),
              .max_header_bytes = loop.options().max_header_bytes},
             loop.memory()),
      age_(loop.NextAge()) {}

GrpcSession::~GrpcSession() {
  for (GrpcCall* const call : waiting_) {
    call->session = nullptr;
    call->stream = nullptr;
  }
  for (GrpcStream* const stream : open_) loop_.GiveBack(std::unique_ptr<GrpcStream>(stream));
}

void GrpcSession::Receive(std::string_view bytes) {
  if (closing_) return;
  heard_ = true;
  http2_.Receive(bytes);
  AskAll();
  Pump();
}

bool GrpcSession::in_request() const { return http2_.in_headers(); }

void GrpcSession::Resume() {
  if (!closing_) Pump();
}

void GrpcSession::Pump() {
  using End = wire::Http2Session::End;
  if (closing_) return;
  if (http2_.end() != End::kNotHttp2) held_back_ = !http2_.Send(output_, kMostOutput);
  if (http2_.end() == End::kNone) return;
  Close();
  if (http2_.end() == End::kDone) return;
  if (http2_.end() == End::kNotHttp2) output_ += kNotHttp2;
  loop_.host().CountProtocolError(Protocol::kGrpc);
  if (http2_.end() == End::kAbuse) loop_.host().CountAbuse(http2_.abuse());
}

void GrpcSession::Close() {
  closing_ = true;
  held_back_ = false;
}

// Whoever watches is told before everybody leaves.
void GrpcSession::Drain() {
  for (GrpcStream* const stream : open_) {
    if (stream->watch) Look(*stream);
  }
  Leave();
  Pump();
}

// In two steps, so that no call is lost: until the client has heard of it, calls are answered.
void GrpcSession::Leave() {
  if (leaving_ != Leaving::kNo) return;
  leaving_ = Leaving::kSaid;
  http2_.SayGoodbye(kGoodbyeNumber);
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

void GrpcSession::LookAtTime(SteadyTime now) {
  if (closing_) return;
  if (!began_) began_ = now_ = idle_since_ = quiet_since_ = now;
  http2_.Passed(now - now_);
  now_ = now;
  LookAtStreams(now);
  LookAtAge(now);
  LookAtSilence(now);
  Pump();
}

void GrpcSession::LookAtStreams(SteadyTime now) {
  for (GrpcStream* const stream : open_) {
    if (stream->since == SteadyTime{}) stream->since = now;  // It came before the first look.
    if (stream->sent != stream->seen_sent) stream->since = now;
    stream->seen_sent = stream->sent;
    if (stream->watch) Look(*stream);
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

void GrpcSession::LookAtAge(SteadyTime now) {
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
void GrpcSession::LookAtSilence(SteadyTime now) {
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
