#include "api/grpc/session.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "wire/grpc_timeout.h"

namespace sluice::api {
namespace {

using wire::Compressed;
using wire::GrpcStatus;
using wire::Http2Header;
using wire::Http2Session;

// Smaller replies are not worth compressing.
constexpr std::size_t kWorthCompressing = 1024;
// Of messages that are not run, for all streams of a session.
constexpr std::size_t kMostHeld = std::size_t{4} << 20;
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
  CountBody(stream, 0);
  if (stream.waits_at) waiting_for_room_[*stream.waits_at] = nullptr;
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
  } else if (name == "traceparent") {
    if (!loop_.services().records_traces()) return;
    if (const auto trace = ParseTraceparent(value)) stream.trace = *trace;
  } else if (name == "grpc-encoding") {
    stream.encoding = EncodingOf(value);
  } else if (name == "grpc-accept-encoding") {
    stream.accepts_gzip = Lists(value, "gzip");
  } else if (name == "authorization") {
    if (stream.method == nullptr || !NeedsRole(loop_.services(), stream.method->role)) return;
    // Of several, none is right.
    stream.token = stream.token.empty() ? BearerToken(value) : std::string_view("several");
  }
}

// Refuses a call whose caller lacks the method's role. A wrong token beyond the bound ends the
// connection.
void GrpcSession::CheckRole(GrpcStream& stream) {
  ServerServices& services = loop_.services();
  const identity::Role least = stream.method->role;
  if (!NeedsRole(services, least)) return;
  identity::Authenticator& authenticator = services.admin().authenticator();
  identity::PrincipalPointer principal = authenticator.FindCertificate(peer_.tls_subject);
  if (authenticator.IsCredential(stream.token)) {
    identity::Login login = LogIn(services, Protocol::kGrpc, peer_, stream.token);
    if (login.verdict == identity::TokenVerdict::kLimited) {
      Refuse(stream, GrpcStatus::kResourceExhausted, "too many wrong tokens from this address");
      return Leave();
    }
    principal = std::move(login.principal);
  } else if (!principal && peer_.is_local && authenticator.trusts_local()) {
    principal = identity::LocalPrincipal();
  }
  if (!principal) {
    return Refuse(stream, GrpcStatus::kUnauthenticated,
                  "this needs a valid token: send the metadata authorization: Bearer <token>");
  }
  if (!principal->Has(least)) {
    Refuse(stream, GrpcStatus::kPermissionDenied, "the caller lacks the role");
  }
}

void GrpcSession::OnHeaders(wire::Http2Stream& of) {
  GrpcStream& stream = OfGrpc(of);
  stream.began = loop_.services().now();
  if (stream.header_bytes > loop_.options().max_header_bytes) {
    transport().CountExceeded(transport::ResourceBound::kHeaderSize);
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
  CheckRole(stream);
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
      transport().CountExceeded(transport::ResourceBound::kBodySize);
      return Refuse(stream, GrpcStatus::kResourceExhausted, "the message is too large");
    } else if (status == Status::kBroken) {
      return Refuse(stream, GrpcStatus::kInternal,
                    "a message begins with 1 or 0: it is compressed, or not");
    } else {
      if (HoldsTooMuch()) {
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
    if (stream.messages > 0) return HasRoom() ? OnMessage(stream) : WaitForRoom(stream);
    return Refuse(stream, GrpcStatus::kUnimplemented, "this method takes one message, not none");
  }
  Refuse(stream, GrpcStatus::kOk, {});
}

void GrpcSession::CountHeld(GrpcStream& stream, std::size_t held) {
  held_ = held_ - stream.held + held;
  stream.held = held;
}

bool GrpcSession::HoldsTooMuch() const {
  return held_ > std::max(kMostHeld, 2 * loop_.options().max_message_bytes);
}

void GrpcSession::CountBody(GrpcStream& stream, std::size_t held) {
  held_bodies_ = held_bodies_ - stream.held_body + held;
  stream.held_body = held;
}

void GrpcSession::OnBodySent(wire::Http2Stream& of) { CountBody(OfGrpc(of), 0); }

void GrpcSession::WaitForRoom(GrpcStream& stream) {
  CountHeld(stream, stream.reader.held());
  if (HoldsTooMuch()) {
    return Refuse(stream, GrpcStatus::kResourceExhausted, "too many replies that are not taken");
  }
  stream.waits_at = waiting_for_room_.size();
  waiting_for_room_.push_back(&stream);
}

// Runs the calls that waited for room, as far as there is some.
void GrpcSession::RunWaiting() {
  std::size_t run = 0;
  while (run < waiting_for_room_.size() && HasRoom() && MayRun(batched())) {
    GrpcStream* const stream = waiting_for_room_[run++];
    if (stream == nullptr) continue;
    stream->waits_at.reset();
    CountHeld(*stream, 0);
    if (!stream->refused) OnMessage(*stream);
  }
  waiting_for_room_.erase(waiting_for_room_.begin(),
                          waiting_for_room_.begin() + static_cast<std::ptrdiff_t>(run));
  for (std::size_t i = 0; i < waiting_for_room_.size(); ++i) {
    if (waiting_for_room_[i] != nullptr) waiting_for_room_[i]->waits_at = i;
  }
  DecideBatch();
}

void GrpcSession::OnMessage(GrpcStream& stream) {
  transport().share().Count();
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
  const std::string_view compressed = stream.reader.message();
  const Status status =
      loop_.gzip().Decompress(compressed, loop_.options().max_decompressed_bytes, loop_.room());
  http2_.CountInflated(compressed.size(), loop_.room().size());
  if (status == Status::kDone) return loop_.room();
  if (status == Status::kTooLarge) {
    transport().CountExceeded(transport::ResourceBound::kBodySize);
    Refuse(stream, GrpcStatus::kResourceExhausted,
           "the message is too large once it is decompressed");
  } else {
    Refuse(stream, GrpcStatus::kInternal, "the message is not what gzip makes");
  }
  return std::nullopt;
}

// How long a store may take for it. Nothing: the caller's time is over.
std::optional<Micros> GrpcSession::TimeoutFor(const GrpcStream& stream) {
  if (!stream.timeout) return loop_.options().deadline;
  const Micros gone = std::max(loop_.services().now() - stream.began, Micros{0});
  const Micros left = *stream.timeout - gone;
  if (left <= Micros{0}) return std::nullopt;
  return std::max(left - left / 10, Micros{1});  // The answer's way back takes time, too.
}

void GrpcSession::Ask(GrpcStream& stream, std::string_view message) {
  const std::optional<Micros> timeout = TimeoutFor(stream);
  if (!timeout) return Refuse(stream, GrpcStatus::kDeadlineExceeded, "it came too late");
  GrpcCall& call = *loop_.Take().release();  // GiveBack owns it again.
  call.peer = &peer_;
  call.timeout = *timeout;
  call.trace = stream.trace;
  call.stream = &stream;
  stream.call = &call;
  stream.method->ask(call, message);
  call.peer = nullptr;
  if (call.size() == 0 || call.status != GrpcStatus::kOk) {
    Finish(call);
    return call.GiveBack();
  }
  Submit(call);
}

// Sends the reply, if the stream is still there.
void GrpcSession::WriteReply(CheckCall& base, std::string& /*out*/) {
  auto& call = static_cast<GrpcCall&>(base);
  GrpcStream* const stream = call.stream;
  if (stream == nullptr) return;
  stream->call = nullptr;
  if (call.size() > 0 && call.status == GrpcStatus::kOk) call.answer(call);
  if (call.status == GrpcStatus::kOk) {
    Reply(*stream, call.reply);
  } else {
    Refuse(*stream, call.status, call.status_message);
  }
}

void GrpcSession::Converse(GrpcStream& stream, std::string_view message) {
  if (!HasRoom()) {
    return Refuse(stream, GrpcStatus::kResourceExhausted, "too many replies that are not taken");
  }
  std::unique_ptr<GrpcCall> call = loop_.Take();
  call->peer = &peer_;
  stream.method->ask(*call, message);
  if (call->status != GrpcStatus::kOk) {
    Refuse(stream, call->status, call->status_message);
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
  Poll(stream);
}

// A watcher that has not read the last status gets the next one later.
void GrpcSession::Poll(GrpcStream& stream) {
  if (stream.refused || !stream.body.empty()) return;
  GrpcCall& call = *stream.watch;
  stream.method->poll(call);
  if (stream.responded && call.reply == stream.watched) return;
  stream.watched = call.reply;
  Send(stream, call.reply);
}

// One of several replies.
void GrpcSession::Send(GrpcStream& stream, std::string_view message) {
  stream.since = now_;
  Begin(stream, Compressed::kNo);
  AppendGrpcFrame(message, Compressed::kNo, stream.body);
  CountBody(stream, stream.body.capacity());
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
  CountBody(stream, stream.body.capacity());
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

// A client that does not speak gRPC would not understand a gRPC status.
void GrpcSession::RefuseHttp(GrpcStream& stream, std::string_view status) {
  stream.refused = true;
  const std::array<Http2Header, 2> head{{{":status", status}, {"allow", "POST"}}};
  http2_.Respond(stream, std::span(head).first(stream.is_post ? 1 : 2), Http2Session::Rest::kNone);
}

}  // namespace sluice::api
