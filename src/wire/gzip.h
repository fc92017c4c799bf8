#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace sluice::wire {

/// Compresses and decompresses with gzip, again and again with the same memory, which is asked for
/// when it is first needed.
class Gzip {
 public:
  Gzip();
  ~Gzip();
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  enum class Status : std::uint8_t { kDone, kTooLarge, kBroken };

  /// Messages that inflate to more than so many times their size are bombs. A small message may
  /// well consist of nothing but repetition, so the first bytes are free.
  static constexpr std::size_t kMostRatio = 50;
  static constexpr std::size_t kFreeBytes = std::size_t{4} << 10;
  /// Returns the size to which a message may inflate, if `most` is the limit of all messages.
  [[nodiscard]] static std::size_t MostFrom(std::size_t compressed, std::size_t most) {
    if (compressed >= most / kMostRatio) return most;
    return std::min(most, kFreeBytes + compressed * kMostRatio);
  }

  /// Replaces `out`, which never becomes longer than `most`, nor longer than MostFrom says.
  Status Decompress(std::string_view bytes, std::size_t most, std::string& out);
  /// Replaces `out`. False: there is no memory for it.
  bool Compress(std::string_view bytes, std::string& out);

 private:
  struct Streams;
  std::unique_ptr<Streams> streams_;
};

}  // namespace sluice::wire
