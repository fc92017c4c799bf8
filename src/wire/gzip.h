#pragma once

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

  /// Replaces `out`, which never becomes longer than `most`.
  Status Decompress(std::string_view bytes, std::size_t most, std::string& out);
  /// Replaces `out`. False: there is no memory for it.
  bool Compress(std::string_view bytes, std::string& out);

 private:
  struct Streams;
  std::unique_ptr<Streams> streams_;
};

}  // namespace sluice::wire
