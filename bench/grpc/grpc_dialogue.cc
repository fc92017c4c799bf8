#include "grpc_dialogue.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace sluice::bench {

struct GrpcDialogue::Frame {
  std::uint8_t type;
  std::uint8_t flags;
  std::uint32_t stream;
  std::string_view payload;
};

namespace {

constexpr std::size_t kHeaderBytes = 9;    // Of a frame.
constexpr std::size_t kMessagePrefix = 5;  // Of a message.
constexpr std::int64_t kFirstWindow = 65'535;
constexpr std::uint32_t kOurWindow = 1U << 30;
constexpr std::uint32_t kUsualHeaderTable = 4'096;

enum Type : std::uint8_t {
  kData = 0,
  kHeaders = 1,
  kSettings = 4,
  kPing = 6,
  kWindowUpdate = 8,
};
constexpr std::uint8_t kEndStream = 1;  // Of kData and kHeaders.
constexpr std::uint8_t kAck = 1;        // Of kSettings and kPing.
constexpr std::uint8_t kEndHeaders = 4;

enum Setting : std::uint16_t {
  kHeaderTableSize = 1,
  kEnablePush = 2,
  kMaxConcurrentStreams = 3,
  kInitialWindowSize = 4,
};

void AppendNumber(std::string& out, std::uint64_t number, int bytes) {
  while (bytes-- > 0) out += static_cast<char>(number >> (8 * bytes) & 0xFF);
}

std::uint32_t ReadNumber(std::string_view bytes) {
  std::uint32_t number = 0;
  for (const char byte : bytes) number = number << 8 | static_cast<unsigned char>(byte);
  return number;
}

void AppendFrame(std::string& out, Type type, std::uint8_t flags, std::uint32_t stream,
                 std::string_view payload) {
  AppendNumber(out, payload.size(), 3);
  AppendNumber(out, type, 1);
  AppendNumber(out, flags, 1);
  AppendNumber(out, stream, 4);
  out += payload;
}

void AppendWindowUpdate(std::string& out, std::int64_t bytes) {
  std::string payload;
  AppendNumber(payload, static_cast<std::uint64_t>(bytes), 4);
  AppendFrame(out, kWindowUpdate, 0, 0, payload);
}

std::string Greeting() {
  std::string settings;
  AppendNumber(settings, kEnablePush, 2);
  AppendNumber(settings, 0, 4);
  AppendNumber(settings, kInitialWindowSize, 2);
  AppendNumber(settings, kOurWindow, 4);
  std::string out = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  AppendFrame(out, kSettings, 0, 0, settings);
  AppendWindowUpdate(out, kOurWindow);
  return out;
}

// HPACK. The first request has the texts and lets the server remember them; those after it name
// their numbers in the server's memory, which counts from the newest.
std::string FirstHeaders() {
  std::string block = "\x83\x86";  // POST, http.
  const auto remember = [&](std::string_view name, std::string_view value) {
    block += name;
    block += static_cast<char>(value.size());
    block += value;
  };
  remember("\x44", "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit");
  remember("\x41", "127.0.0.1");
  remember(std::string_view("\x40\x02te"), "trailers");
  remember("\x5F", "application/grpc");
  remember("\x7A", "sluice-bench");
  return block;
}

constexpr std::string_view kNextHeaders = "\x83\x86\xC2\xC1\xC0\xBF\xBE";

void WriteStream(std::string& frames, std::size_t frame, std::uint32_t stream) {
  std::string number;
  AppendNumber(number, stream, 4);
  std::copy(number.begin(), number.end(), frames.begin() + static_cast<std::ptrdiff_t>(frame) + 5);
}

}  // namespace

GrpcDialogue::GrpcDialogue(std::shared_ptr<Requests> messages)
    : messages_(std::move(messages)),
      window_(kFirstWindow),
      most_streams_(std::numeric_limits<std::size_t>::max()) {}

std::string GrpcDialogue::FramedMessage(std::string_view message) {
  std::string payload(1, '\0');  // Not compressed.
  AppendNumber(payload, message.size(), 4);
  payload += message;
  std::string frame;
  AppendFrame(frame, kData, kEndStream, 0, payload);
  return frame;
}

std::uint64_t GrpcDialogue::Ask(std::string& out) {
  if (!greeted_) out += Greeting();
  const std::size_t begin = held_.size();
  AppendFrame(held_, kHeaders, kEndHeaders, 0, greeted_ ? kNextHeaders : FirstHeaders());
  const std::size_t data = held_.size();
  const std::uint64_t key = messages_->Append(held_);
  WriteStream(held_, begin, next_id_);
  WriteStream(held_, data, next_id_);
  streams_.push_back({.id = next_id_});
  next_id_ += 2;
  data_size_ = held_.size() - data - kHeaderBytes;
  request_size_ = held_.size() - begin;
  Release(out);
  greeted_ = true;
  return key;
}

void GrpcDialogue::Release(std::string& out) {
  if (held_.empty()) return;
  std::size_t waiting = held_.size() / request_size_;
  std::size_t at = 0;
  for (; waiting > 0; --waiting, at += request_size_) {
    const std::size_t open = streams_.size() - waiting;
    if (window_ < static_cast<std::int64_t>(data_size_) || open >= most_streams_) break;
    window_ -= static_cast<std::int64_t>(data_size_);
    out.append(held_, at, request_size_);
  }
  held_.erase(0, at);
}

Reply GrpcDialogue::Hear(std::string_view bytes, std::string& out) {
  if (bytes.size() < kHeaderBytes) return {0, Verdict::kNone};
  const std::size_t size = kHeaderBytes + ReadNumber(bytes.substr(0, 3));
  if (bytes.size() < size) return {0, Verdict::kNone};
  const Frame frame{.type = static_cast<std::uint8_t>(bytes[3]),
                    .flags = static_cast<std::uint8_t>(bytes[4]),
                    .stream = ReadNumber(bytes.substr(5, 4)),
                    .payload = bytes.substr(kHeaderBytes, size - kHeaderBytes)};
  Reply reply{size, Verdict::kWrong};
  switch (frame.type) {
    case kData:
      reply.verdict = HearData(frame, out);
      break;
    case kHeaders:
      reply = HearHeaders(frame, out);
      reply.size = size;
      break;
    case kSettings:
      reply.verdict = HearSettings(frame, out);
      break;
    case kPing:
      reply.verdict = Verdict::kNone;
      if ((frame.flags & kAck) == 0) AppendFrame(out, kPing, kAck, 0, frame.payload);
      break;
    case kWindowUpdate:
      reply.verdict = HearWindow(frame, out);
      break;
    default:  // A stream or the connection ends early, or what needs a reader of headers.
      break;
  }
  return reply;
}

std::size_t GrpcDialogue::Find(std::uint32_t id) const {
  const auto at = std::find_if(streams_.begin(), streams_.end(),
                               [id](const Stream& stream) { return stream.id == id; });
  return static_cast<std::size_t>(at - streams_.begin());
}

Verdict GrpcDialogue::HearData(const Frame& frame, std::string& out) {
  taken_ += static_cast<std::int64_t>(frame.payload.size());
  if (taken_ > kOurWindow / 2) AppendWindowUpdate(out, std::exchange(taken_, 0));
  const std::size_t at = Find(frame.stream);
  if (at == streams_.size() || frame.flags != 0 || frame.payload.size() < kMessagePrefix + 2 ||
      frame.payload[kMessagePrefix] != '\x08') {  // Field 1, a number.
    return Verdict::kWrong;
  }
  const char code = frame.payload[kMessagePrefix + 1];
  if (code == 1) streams_[at].verdict = Verdict::kAllowed;
  if (code == 2) streams_[at].verdict = Verdict::kDenied;
  return Verdict::kNone;
}

Reply GrpcDialogue::HearHeaders(const Frame& frame, std::string& out) {
  if ((frame.flags & kEndHeaders) == 0) return {0, Verdict::kWrong};
  if ((frame.flags & kEndStream) == 0) return {0, Verdict::kNone};
  const std::size_t at = Find(frame.stream);
  if (at == streams_.size()) return {0, Verdict::kWrong};
  const Reply reply{0, streams_[at].verdict, at};
  streams_.erase(streams_.begin() + static_cast<std::ptrdiff_t>(at));
  Release(out);
  return reply;
}

Verdict GrpcDialogue::HearSettings(const Frame& frame, std::string& out) {
  if ((frame.flags & kAck) != 0) return Verdict::kNone;
  for (std::size_t i = 0; i + 6 <= frame.payload.size(); i += 6) {
    const std::uint32_t setting = ReadNumber(frame.payload.substr(i, 2));
    const std::uint32_t value = ReadNumber(frame.payload.substr(i + 2, 4));
    if (setting == kMaxConcurrentStreams) most_streams_ = value;
    if (setting == kHeaderTableSize && value < kUsualHeaderTable) return Verdict::kWrong;
  }
  AppendFrame(out, kSettings, kAck, 0, "");
  Release(out);
  return Verdict::kNone;
}

Verdict GrpcDialogue::HearWindow(const Frame& frame, std::string& out) {
  if (frame.payload.size() != 4) return Verdict::kWrong;
  if (frame.stream == 0) window_ += ReadNumber(frame.payload);
  Release(out);
  return Verdict::kNone;
}

}  // namespace sluice::bench
