#pragma once

#include <array>
#include <cassert>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/json_writer.h"

namespace sluice::api {

/// Appends JSON whose shape is known beforehand: the caller writes the punctuation, in one piece
/// with the names, and says how much room all of it needs at most. For answers that are written
/// hundreds of thousands of times a second; everywhere else a JsonWriter does.
///
///     JsonText text(out, 64 + JsonText::RoomFor(name));
///     text.Raw(R"({"name":)").Quoted(name).Raw("}");
class JsonText {
 public:
  static constexpr std::size_t kNumberRoom = 20;
  [[nodiscard]] static std::size_t RoomFor(std::string_view text) { return 6 * text.size() + 2; }

  JsonText(std::string& out, std::size_t room) : out_(out), in_place_(room > buffer_.size()) {
    const std::size_t size = out.size();
    if (in_place_) out.resize(size + room);
    at_ = in_place_ ? out.data() + size : buffer_.data();
  }
  ~JsonText() {
    assert(at_ <= (in_place_ ? out_.data() + out_.size() : buffer_.data() + buffer_.size()));
    if (in_place_) {
      out_.resize(static_cast<std::size_t>(at_ - out_.data()));
    } else {
      out_.append(buffer_.data(), at_);
    }
  }
  JsonText(const JsonText&) = delete;
  JsonText& operator=(const JsonText&) = delete;

  template <std::size_t kSize>
  JsonText& Raw(const char (&text)[kSize]) {
    std::memcpy(at_, text, kSize - 1);
    at_ += kSize - 1;
    return *this;
  }
  JsonText& RawText(std::string_view text) {
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
    return *this;
  }
  JsonText& Int(std::int64_t number) {
    if (number >= 0 && number <= 9) {
      *at_++ = static_cast<char>('0' + number);
      return *this;
    }
    at_ = std::to_chars(at_, at_ + kNumberRoom, number).ptr;
    return *this;
  }
  JsonText& Bool(bool value) { return value ? Raw("true") : Raw("false"); }

  JsonText& Quoted(std::string_view text) {
    if (text.empty()) return Raw("\"\"");
    if (!IsPlain(text)) return QuotedWithEscapes(text);
    *at_++ = '"';
    RawText(text);
    *at_++ = '"';
    return *this;
  }

 private:
  /// Whether the text is ASCII that needs no escapes: eight bytes at a time.
  static bool IsPlain(std::string_view text) {
    constexpr std::uint64_t kOnes = 0x0101010101010101;
    constexpr std::uint64_t kHighs = kOnes << 7;
    const auto has_zero = [](std::uint64_t word) { return (word - kOnes) & ~word & kHighs; };
    // From 0x80 on; below 0x20; 0x7F; the two that are escaped.
    const auto others = [&](std::uint64_t word) {
      return word | (word - 0x20 * kOnes) | (word + kOnes) | has_zero(word ^ ('"' * kOnes)) |
             has_zero(word ^ ('\\' * kOnes));
    };
    const auto word_at = [&text](std::size_t i) {
      std::uint64_t word;
      std::memcpy(&word, text.data() + i, sizeof(word));
      return word;
    };
    const std::size_t size = text.size();
    if (size < 8) {
      std::uint64_t word = '~' * kOnes;
      std::memcpy(&word, text.data(), size);
      return (others(word) & kHighs) == 0;
    }
    std::uint64_t found = others(word_at(size - 8));
    for (std::size_t i = 0; i + 8 < size; i += 8) found |= others(word_at(i));
    return (found & kHighs) == 0;
  }
  JsonText& QuotedWithEscapes(std::string_view text) {
    std::string quoted;
    JsonWriter(quoted).String(text);
    return RawText(quoted);
  }

  std::string& out_;
  const bool in_place_;  ///< Text that exceeds the buffer is written to the end of `out`.
  char* at_;
  std::array<char, 2048> buffer_;  ///< Cheaper than to zero the end of a string first.
};

}  // namespace sluice::api
