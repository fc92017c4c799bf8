#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace sluice::wire {

/// Compresses and decompresses gzip with reusable state, which is allocated on first use.
class Gzip {
 public:
  Gzip();
  ~Gzip();
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  enum class Status : std::uint8_t { kDone, kTooLarge, kBroken };

  /// Maximum compression ratio, against decompression bombs. Small messages may be highly
  /// repetitive, so the first bytes are free.
  static constexpr std::size_t kMaxRatio = 50;
  static constexpr std::size_t kFreeBytes = std::size_t{4} << 10;
  /// Returns the maximum inflated size of a message, if `most` is the limit of all messages.
  [[nodiscard]] static std::size_t MaxInflated(std::size_t compressed, std::size_t most) {
    if (compressed >= most / kMaxRatio) return most;
    return std::min(most, kFreeBytes + compressed * kMaxRatio);
  }

  /// Replaces `out`, with at most MaxInflated(…) bytes.
  Status Decompress(std::string_view bytes, std::size_t most, std::string& out);
  /// Replaces `out`. Returns false if memory is exhausted.
  bool Compress(std::string_view bytes, std::string& out);

 private:
  struct Streams;
  std::unique_ptr<Streams> streams_;
};

}  // namespace sluice::wire
