#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::wire {

/// Incremental parser of gRPC's length-prefixed messages: a flag for compression, four bytes of
/// length, the message.
class GrpcFrameReader {
 public:
  enum class Status : std::uint8_t {
    kMore,      ///< All bytes were consumed.
    kMessage,   ///< `message` is complete; valid until the next Read.
    kTooLarge,  ///< Longer than `most`. Final.
    kBroken,    ///< Invalid compression flag. Final.
  };

  /// Removes the consumed bytes from the front of `bytes`.
  Status Read(std::string_view& bytes, std::size_t most);
  [[nodiscard]] std::string_view message() const {
    return std::string_view(bytes_).substr(kPrefix);
  }
  [[nodiscard]] bool compressed() const { return bytes_.front() != '\0'; }
  /// True if a message is incomplete.
  [[nodiscard]] bool in_message() const { return !bytes_.empty() && !whole_; }
  /// Buffered bytes.
  [[nodiscard]] std::size_t held() const { return bytes_.size(); }

  /// Resets the parser for another stream.
  void Clear();

  static constexpr std::size_t kPrefix = 5;

 private:
  std::string bytes_;     // Prefix and message.
  std::size_t size_ = 0;  // Expected size of both, once known.
  bool whole_ = false;
};

enum class Compressed : std::uint8_t { kNo, kYes };

/// Appends a message with its prefix.
void AppendGrpcFrame(std::string_view message, Compressed compressed, std::string& out);

}  // namespace sluice::wire
