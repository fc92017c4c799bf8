#include "api/grpc_session.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "wire/grpc_timeout.h"

namespace sluice::api {
namespace {

using limiter::Question;
using wire::Compressed;
using wire::GrpcStatus;
using wire::Http2Header;
using wire::Http2Session;

// Smaller replies are not worth compressing.
constexpr std::size_t kWorthCompressing = 1024;
// Of messages that are not whole, for all streams of a session.
constexpr std::size_t kMostHeld = std::size_t{16} << 20;
constexpr std::string_view kEncodings = "identity,gzip";

// "application/grpc", also with "+proto", and with parameters.
bool IsGrpc(std::string_view type) {
  constexpr std::string_view kType = "application/grpc";
  constexpr std::string_view kProto = "+proto";
  if (!type.starts_with(kType)) return false;
  type.remove_prefix(kType.size());
  if (type.starts_with(kProto)) type.remove_prefix(kProto.size());
  return type.empty() || type.front() == ';';
}

bool Lists(std::string_view list, std::string_view wanted) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    std::string_view item = list.substr(0, comma);
    while (item.starts_with(' ')) item.remove_prefix(1);
    while (item.ends_with(' ')) item.remove_suffix(1);
    if (item == wanted) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

GrpcStream::Encoding EncodingOf(std::string_view name) {
  if (name == "identity") return GrpcStream::Encoding::kIdentity;
  return name == "gzip" ? GrpcStream::Encoding::kGzip : GrpcStream::Encoding::kUnknown;
}

GrpcStream& OfGrpc(wire::Http2Stream& stream) { return static_cast<GrpcStream&>(stream); }

}  // namespace

wire::Http2Stream& GrpcSession::OnStream() {
  GrpcStream* const stream = loop_.TakeStream().release();
  stream->since = now_;
  stream->index = open_.size();
  open_.push_back(stream);  // OnClosed owns it again.
  return *stream;
}

void GrpcSession::OnClosed(wire::Http2Stream& closed) {
  GrpcStream& stream = OfGrpc(closed);
  CountHeld(stream, 0);
  if (stream.call != nullptr) stream.call->stream = nullptr;
  open_[stream.index] = open_.back();
  open_[stream.index]->index = stream.index;
  open_.pop_back();
  idle_since_ = now_;
  loop_.GiveBack(std::unique_ptr<GrpcStream>(&stream));
}

void GrpcSession::OnHeader(wire::Http2Stream& of, std::string_view name, std::string_view value) {
  GrpcStream& stream = OfGrpc(of);
  if (name == ":path") {
    stream.method = loop_.options().find_method(value);
  } else if (name == ":method") {
    stream.is_post = value == "POST";
  } else if (name == "content-type") {
    stream.is_grpc = IsGrpc(value);
  } else if (name == "grpc-timeout") {
    stream.timeout = wire::ParseGrpcTimeout(value);
    stream.bad_timeout = !stream.timeout;
  } else if (name == "grpc-encoding") {
    stream.encoding = EncodingOf(value);
  } else if (name == "grpc-accept-encoding") {
    stream.accepts_gzip = Lists(value, "gzip");
  }
}

void GrpcSession::OnHeaders(wire::Http2Stream& of) {
  GrpcStream& stream = OfGrpc(of);
  stream.began = loop_.host().now();
  if (stream.header_bytes > loop_.options().max_header_bytes) {
    return Refuse(stream, GrpcStatus::kResourceExhausted, "the headers are too large");
  }
  if (!stream.is_post) return RefuseHttp(stream, "405");
  if (!stream.is_grpc) return RefuseHttp(stream, "415");
  if (stream.method == nullptr) {
    return Refuse(stream, GrpcStatus::kUnimplemented, "there is no such method");
  }
  if (stream.encoding == GrpcStream::Encoding::kUnknown) {
    return Refuse(stream, GrpcStatus::kUnimplemented,
                  "of encodings, identity and gzip are understood");
  }
  if (stream.bad_timeout) {
    return Refuse(stream, GrpcStatus::kInvalidArgument,
                  "grpc-timeout is up to eight digits and one of H, M, S, m, u, n");
  }
}

void GrpcSession::OnData(wire::Http2Stream& of, std::string_view bytes) {
  using Status = wire::GrpcFrameReader::Status;
  GrpcStream& stream = OfGrpc(of);
  while (!stream.refused) {
    const bool one_is_enough = stream.messages > 0 && stream.method->kind != GrpcKind::kDialogue;
    if (one_is_enough && !bytes.empty()) {
      return Refuse(stream, GrpcStatus::kUnimplemented, "this method takes one message only");
    }
    const Status status = stream.reader.Read(bytes, loop_.options().max_message_bytes);
    CountHeld(stream, stream.reader.in_message() ? stream.reader.held() : 0);
    if (status == Status::kMessage) {
      ++stream.messages;
      stream.since = now_;
      if (stream.method->kind == GrpcKind::kDialogue) OnMessage(stream);
      if (bytes.empty()) return;
    } else if (status == Status::kTooLarge) {
      return Refuse(stream, GrpcStatus::kResourceExhausted, "the message is too large");
    } else if (status == Status::kBroken) {
      return Refuse(stream, GrpcStatus::kInternal,
                    "a message begins with 1 or 0: it is compressed, or not");
    } else {
      if (held_ > std::max(kMostHeld, 2 * loop_.options().max_message_bytes)) {
        Refuse(stream, GrpcStatus::kResourceExhausted, "too many messages that are not whole");
      }
      return;
    }
  }
}

void GrpcSession::OnEnd(wire::Http2Stream& of) {
  GrpcStream& stream = OfGrpc(of);
  if (stream.refused) return;
  stream.since = now_;
  if (stream.reader.in_message()) {
    return Refuse(stream, GrpcStatus::kInternal, "the stream ends within a message");
  }
  if (stream.method->kind != GrpcKind::kDialogue) {
    if (stream.messages > 0) return OnMessage(stream);
    return Refuse(stream, GrpcStatus::kUnimplemented, "this method takes one message, not none");
  }
  Refuse(stream, GrpcStatus::kOk, {});
}

void GrpcSession::CountHeld(GrpcStream& stream, std::size_t held) {
  held_ = held_ - stream.held + held;
  stream.held = held;
}

void GrpcSession::OnMessage(GrpcStream& stream) {
  const std::optional<std::string_view> message = MessageOf(stream);
  if (!message) return;
  switch (stream.method->kind) {
    case GrpcKind::kUnary:
      return Ask(stream, *message);
    case GrpcKind::kDialogue:
      return Converse(stream, *message);
    case GrpcKind::kWatch:
      return Watch(stream, *message);
  }
}

// Without its compression. Nothing: it was refused.
std::optional<std::string_view> GrpcSession::MessageOf(GrpcStream& stream) {
  using Status = wire::Gzip::Status;
  if (!stream.reader.compressed()) return stream.reader.message();
  if (stream.encoding != GrpcStream::Encoding::kGzip) {
    Refuse(stream, GrpcStatus::kInternal, "a compressed message, and no grpc-encoding");
    return std::nullopt;
  }
  const Status status = loop_.gzip().Decompress(stream.reader.message(),
                                                loop_.options().max_message_bytes, loop_.room());
  if (status == Status::kDone) return loop_.room();
  if (status == Status::kTooLarge) {
    Refuse(stream, GrpcStatus::kResourceExhausted, "the message is too large");
  } else {
    Refuse(stream, GrpcStatus::kInternal, "the message is not what gzip makes");
  }
  return std::nullopt;
}

// How long a store may take for it. Nothing: the caller's time is over.
std::optional<Micros> GrpcSession::PatienceFor(const GrpcStream& stream) {
  if (!stream.timeout) return loop_.options().deadline;
  const Micros gone = std::max(loop_.host().now() - stream.began, Micros{0});
  const Micros left = *stream.timeout - gone;
  if (left <= Micros{0}) return std::nullopt;
  return std::max(left - left / 10, Micros{1});  // The answer's way back takes time, too.
}

void GrpcSession::Ask(GrpcStream& stream, std::string_view message) {
  const std::optional<Micros> patience = PatienceFor(stream);
  if (!patience) return Refuse(stream, GrpcStatus::kDeadlineExceeded, "it came too late");
  GrpcCall& call = *loop_.Take().release();  // Finish owns it again.
  call.peer = &peer_;
  call.patience = *patience;
  call.stream = &stream;
  stream.call = &call;
  stream.method->ask(call, message);
  call.peer = nullptr;
  if (call.size() == 0 || call.status != GrpcStatus::kOk) return Finish(call);
  Host& host = loop_.host();
  GrpcLoop::Batch& batch = loop_.batch();
  const std::size_t questions = call.size();
  call.unanswered = questions;
  for (std::size_t i = 0; i < questions; ++i) {
    GrpcCall::Part& part = call.part(i);
    if (part.question.own_limits() == 0) AddCounted(host.identifier(), part.question);
    part.question.on_done = AnsweredLater;
    part.question.context = &part;
    batch.parts[batch.size++] = &part;
    if (batch.size == batch.parts.size()) AskAll();
  }
}

// Asks what was put off, before the session lets go of the loop.
void GrpcSession::AskAll() {
  GrpcLoop::Batch& batch = loop_.batch();
  if (batch.size == 0) return;
  std::array<Question*, limiter::Limiter::kMostAtOnce> questions;
  for (std::size_t i = 0; i < batch.size; ++i) questions[i] = &batch.parts[i]->question;
  Host& host = loop_.host();
  host.limiter().AskBatch({questions.data(), batch.size}, host.now());
  for (std::size_t i = 0; i < batch.size; ++i) {
    GrpcCall::Part& part = *batch.parts[i];
    if (part.question.pending()) {
      if (part.call.session == nullptr) Await(part.call);
    } else if (TakeAnswer(part)) {
      Finish(part.call);
    }
  }
  batch.size = 0;
}

// True: it was the last that its call had waited for.
bool GrpcSession::TakeAnswer(GrpcCall::Part& part) {
  GrpcCall& call = part.call;
  call.loop.host().CountAnswer(Protocol::kGrpc, part.question);
  if (call.take_note != nullptr) call.take_note(part);
  if (--call.unanswered > 0) return false;
  call.answer(call);
  return true;
}

void GrpcSession::Await(GrpcCall& call) {
  call.session = this;
  call.index = waiting_.size();
  waiting_.push_back(&call);
  pending_ = waiting_.size();
}

void GrpcSession::AnsweredLater(Question& /*question*/, void* context) {
  auto& part = *static_cast<GrpcCall::Part*>(context);
  GrpcCall& call = part.call;
  if (!TakeAnswer(part)) return;
  GrpcSession* const session = call.session;
  if (session == nullptr) return call.loop.GiveBack(std::unique_ptr<GrpcCall>(&call));
  session->Finish(call);
  session->Pump();
  // Nothing here may be touched after the carrier is told: it may end the session.
  if (!session->output_.empty() || session->closing_) session->carrier_.OutputReady();
}

// Sends what the call came to, if anybody still wants to know.
void GrpcSession::Finish(GrpcCall& call) {
  if (call.session != nullptr) {
    waiting_[call.index] = waiting_.back();
    waiting_[call.index]->index = call.index;
    waiting_.pop_back();
    pending_ = waiting_.size();
  }
  if (GrpcStream* const stream = call.stream) {
    stream->call = nullptr;
    if (call.status == GrpcStatus::kOk) {
      Reply(*stream, call.reply);
    } else {
      Refuse(*stream, call.status, call.status_message);
    }
  }
  loop_.GiveBack(std::unique_ptr<GrpcCall>(&call));
}

void GrpcSession::Converse(GrpcStream& stream, std::string_view message) {
  std::unique_ptr<GrpcCall> call = loop_.Take();
  call->peer = &peer_;
  stream.method->ask(*call, message);
  if (call->status != GrpcStatus::kOk) {
    Refuse(stream, call->status, call->status_message);
  } else if (stream.body.size() - stream.sent > kMostOutput) {
    Refuse(stream, GrpcStatus::kResourceExhausted, "too many replies that are not taken");
  } else {
    Send(stream, call->reply);
  }
  loop_.GiveBack(std::move(call));
}

void GrpcSession::Watch(GrpcStream& stream, std::string_view message) {
  std::unique_ptr<GrpcCall> call = loop_.Take();
  call->peer = &peer_;
  stream.method->ask(*call, message);
  call->peer = nullptr;
  if (call->status != GrpcStatus::kOk) {
    Refuse(stream, call->status, call->status_message);
    return loop_.GiveBack(std::move(call));
  }
  stream.watch = std::move(call);
  Look(stream);
}

// Whoever has not taken the last news is told the next ones later.
void GrpcSession::Look(GrpcStream& stream) {
  if (stream.refused || !stream.body.empty()) return;
  GrpcCall& call = *stream.watch;
  stream.method->look(call);
  if (stream.responded && call.reply == stream.watched) return;
  stream.watched = call.reply;
  Send(stream, call.reply);
}

// One of several replies.
void GrpcSession::Send(GrpcStream& stream, std::string_view message) {
  stream.since = now_;
  Begin(stream, Compressed::kNo);
  AppendGrpcFrame(message, Compressed::kNo, stream.body);
  http2_.Resume(stream);
}

void GrpcSession::Begin(GrpcStream& stream, Compressed compressed) {
  constexpr std::array<Http2Header, 3> kHead{
      {{":status", "200"}, {"content-type", "application/grpc"}, {"grpc-encoding", "gzip"}}};
  if (stream.responded) return;
  http2_.Respond(stream, std::span(kHead).first(compressed == Compressed::kYes ? 3 : 2),
                 Http2Session::Rest::kBody);
}

void GrpcSession::Reply(GrpcStream& stream, std::string_view message) {
  const bool compresses = stream.accepts_gzip && message.size() >= kWorthCompressing &&
                          loop_.gzip().Compress(message, loop_.room());
  const Compressed compressed = compresses ? Compressed::kYes : Compressed::kNo;
  AppendGrpcFrame(compresses ? loop_.room() : message, compressed, stream.body);
  stream.body_ended = true;
  stream.since = now_;
  stream.status = NumberOf(GrpcStatus::kOk);
  Begin(stream, compressed);
}

// Also for the end of a dialogue, which is no refusal.
void GrpcSession::Refuse(GrpcStream& stream, GrpcStatus why, std::string_view message) {
  if (stream.refused) return;
  stream.refused = true;
  stream.since = now_;
  CountHeld(stream, 0);
  stream.status = NumberOf(why);
  stream.message.clear();
  wire::AppendGrpcMessage(message, stream.message);
  if (stream.responded) {
    stream.body_ended = true;
    return http2_.Resume(stream);
  }
  const bool tells_encodings = stream.encoding == GrpcStream::Encoding::kUnknown;
  std::array<Http2Header, 5> head{
      {{":status", "200"}, {"content-type", "application/grpc"}, {"grpc-status", stream.status}}};
  std::size_t size = 3;
  if (!message.empty()) {
    head[size++] = {.name = "grpc-message", .value = stream.message, .is_static = false};
  }
  if (tells_encodings) head[size++] = {"grpc-accept-encoding", kEncodings};
  http2_.Respond(stream, std::span(head).first(size), Http2Session::Rest::kNone);
}

// Whoever speaks no gRPC would not understand its answer.
void GrpcSession::RefuseHttp(GrpcStream& stream, std::string_view status) {
  stream.refused = true;
  const std::array<Http2Header, 2> head{{{":status", status}, {"allow", "POST"}}};
  http2_.Respond(stream, std::span(head).first(stream.is_post ? 1 : 2), Http2Session::Rest::kNone);
}

}  // namespace sluice::api
