#include "wire/testing/http2_frames.h"

#include <algorithm>
#include <cstddef>

namespace sluice::wire::testing {
namespace {

std::uint32_t NumberIn(std::string_view bytes) {
  std::uint32_t number = 0;
  for (const char byte : bytes) number = number << 8 | static_cast<unsigned char>(byte);
  return number;
}

// In HPACK: the length in seven bits, or more.
void AppendText(std::string_view text, std::string& out) {
  constexpr std::size_t kShort = 127;
  out += static_cast<char>(std::min(text.size(), kShort));
  if (text.size() >= kShort) {
    std::size_t rest = text.size() - kShort;
    for (; rest >= 128; rest /= 128) out += static_cast<char>(128 | rest % 128);
    out += static_cast<char>(rest);
  }
  out += text;
}

}  // namespace

std::string Greeting() { return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Frame(kSettings, 0, 0); }

std::string Frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream,
                  std::string_view payload) {
  std::string frame = Number(static_cast<std::uint32_t>(payload.size())).substr(1);
  frame += static_cast<char>(type);
  frame += static_cast<char>(flags);
  frame += Number(stream);
  return frame.append(payload);
}

std::string Number(std::uint32_t number) {
  std::string bytes;
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(number >> shift);
  return bytes;
}

std::string HeaderBlock(const Headers& headers) {
  std::string block;
  for (const auto& [name, value] : headers) {
    block += '\0';
    AppendText(name, block);
    AppendText(value, block);
  }
  return block;
}

std::string CallHeaders(std::string_view path) {
  return HeaderBlock({{":method", "POST"},
                      {":scheme", "http"},
                      {":path", path},
                      {":authority", "test"},
                      {"te", "trailers"},
                      {"content-type", "application/grpc"}});
}

std::vector<ReadFrame> ReadFrames(std::string_view bytes) {
  constexpr std::size_t kHead = 9;
  std::vector<ReadFrame> frames;
  while (bytes.size() >= kHead) {
    const std::size_t size = NumberIn(bytes.substr(0, 3));
    frames.push_back({.type = static_cast<std::uint8_t>(bytes[3]),
                      .flags = static_cast<std::uint8_t>(bytes[4]),
                      .stream = NumberIn(bytes.substr(5, 4)),
                      .payload = std::string(bytes.substr(kHead, size))});
    bytes.remove_prefix(std::min(kHead + size, bytes.size()));
  }
  return frames;
}

int GoAwayError(std::string_view bytes) {
  int error = -1;
  for (const ReadFrame& frame : ReadFrames(bytes)) {
    if (frame.type == kGoAway) error = static_cast<int>(NumberIn(frame.payload.substr(4, 4)));
  }
  return error;
}

}  // namespace sluice::wire::testing
