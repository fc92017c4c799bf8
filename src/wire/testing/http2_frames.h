#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Frames of HTTP/2, written by hand: also such as no good client would write.
namespace sluice::wire::testing {

using Headers = std::initializer_list<std::pair<std::string_view, std::string_view>>;

enum FrameType : std::uint8_t {
  kData = 0,
  kHeaders = 1,
  kPriority = 2,
  kRstStream = 3,
  kSettings = 4,
  kPushPromise = 5,
  kPing = 6,
  kGoAway = 7,
  kWindowUpdate = 8,
  kContinuation = 9,
};
inline constexpr std::uint8_t kEndStream = 1;
inline constexpr std::uint8_t kAck = 1;
inline constexpr std::uint8_t kEndHeaders = 4;

/// What a client begins with: its magic and an empty SETTINGS.
[[nodiscard]] std::string Greeting();
[[nodiscard]] std::string Frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream,
                                std::string_view payload = {});
/// Four bytes.
[[nodiscard]] std::string Number(std::uint32_t number);
/// Without a table and without Huffman's code.
[[nodiscard]] std::string HeaderBlock(const Headers& headers);
/// The headers of a call of gRPC.
[[nodiscard]] std::string CallHeaders(std::string_view path);

struct ReadFrame {
  std::uint8_t type, flags;
  std::uint32_t stream;
  std::string payload;
};
[[nodiscard]] std::vector<ReadFrame> ReadFrames(std::string_view bytes);
/// The error of the last GOAWAY, or -1.
[[nodiscard]] int GoAwayError(std::string_view bytes);

}  // namespace sluice::wire::testing
