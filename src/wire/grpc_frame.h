#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::wire {

/// Takes gRPC's messages out of bytes that come in any pieces. Each has five bytes before it:
/// whether it is compressed, and its length.
class GrpcFrameReader {
 public:
  enum class Status : std::uint8_t {
    kMore,      ///< All bytes are taken.
    kMessage,   ///< `message` is there until the next Read.
    kTooLarge,  ///< Longer than `most`; nothing more can be read.
    kBroken,    ///< Neither compressed nor not; likewise.
  };

  /// Takes what it has read off the bytes.
  Status Read(std::string_view& bytes, std::size_t most);
  [[nodiscard]] std::string_view message() const {
    return std::string_view(bytes_).substr(kPrefix);
  }
  [[nodiscard]] bool compressed() const { return bytes_.front() != '\0'; }
  /// Whether a message has begun and not ended.
  [[nodiscard]] bool in_message() const { return !bytes_.empty() && !whole_; }
  /// Bytes that it holds.
  [[nodiscard]] std::size_t held() const { return bytes_.size(); }

  /// For another stream.
  void Clear();

  static constexpr std::size_t kPrefix = 5;

 private:
  std::string bytes_;     // Of a message and its prefix.
  std::size_t size_ = 0;  // Of both, once it is known.
  bool whole_ = false;
};

enum class Compressed : std::uint8_t { kNo, kYes };

/// Appends a message with its prefix.
void AppendGrpcFrame(std::string_view message, Compressed compressed, std::string& out);

}  // namespace sluice::wire
