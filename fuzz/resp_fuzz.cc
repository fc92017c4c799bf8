// Bytes are decoded whole and in pieces, which must give the same replies and the same error; what
// was understood must survive being encoded and decoded again.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "resp/decoder.h"
#include "resp/testing/reencode.h"

namespace {

using sluice::resp::Decoder;

constexpr sluice::resp::DecoderLimits kLimits = {
    .max_bytes = 4096, .max_text = 1024, .max_line = 256, .max_elements = 128, .max_depth = 8};

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

std::vector<std::string> Decode(std::string_view bytes, std::size_t piece, std::string& error) {
  Decoder decoder(kLimits);
  std::vector<std::string> replies;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    decoder.Feed(bytes.substr(at, piece));
    while (decoder.Next() == Decoder::Status::kReply) {
      sluice::resp::testing::AppendValue(decoder.reply(), replies.emplace_back());
    }
  }
  error = decoder.error();
  return replies;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::string error;
  const auto replies = Decode(bytes, bytes.size() + 1, error);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{data[0]} + 1}) {
    std::string split_error;
    Require(Decode(bytes, piece, split_error) == replies, "in pieces it means something else");
    Require(split_error == error, "in pieces it fails for another reason");
  }
  for (const std::string& reply : replies) {
    // What RESP2 says shorter may be longer in RESP3, and doubles in their shortest form too.
    if (reply.size() > kLimits.max_bytes) continue;
    std::string again_error;
    const auto again = Decode(reply, reply.size(), again_error);
    Require(again_error.empty() && again.size() == 1 && again[0] == reply,
            "what was encoded means something else");
  }
  return 0;
}
