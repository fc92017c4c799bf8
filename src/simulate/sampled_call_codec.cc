#include "simulate/sampled_call_codec.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace sluice::simulate {
namespace {

constexpr std::size_t kLengthBytes = 3;  ///< One of the name, two of the value.

std::uint64_t HeadWord(const ItemHead& head) {
  return static_cast<std::uint64_t>(head.words) | std::uint64_t{head.attributes} << 16 |
         std::uint64_t{head.level_before} << 24 | std::uint64_t{head.level_after} << 32;
}

/// These come first, so that no number of other attributes displaces them.
bool IsEssential(std::string_view name) {
  return name == "api_key" || name == "ip" || name == "api_key_hash" || name == "ip_network" ||
         name == "tier";
}

class TextWriter {
 public:
  explicit TextWriter(char* out) : out_(out) {}

  void Add(const Attribute& attribute) {
    const std::string_view name = attribute.name;
    const std::string_view value = attribute.value.substr(0, kMaxSampledValue);
    const std::size_t bytes = kLengthBytes + name.size() + value.size();
    if (name.size() > kMaxSampledName || value.empty() || count_ == kMaxSampledAttributes ||
        size_ + bytes > kMaxSampledText) {
      return;
    }
    out_[size_] = static_cast<char>(name.size());
    out_[size_ + 1] = static_cast<char>(value.size() & 0xFF);
    out_[size_ + 2] = static_cast<char>(value.size() >> 8);
    std::copy(name.begin(), name.end(), out_ + size_ + kLengthBytes);
    std::copy(value.begin(), value.end(), out_ + size_ + kLengthBytes + name.size());
    size_ += bytes;
    ++count_;
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::uint32_t count() const { return count_; }

 private:
  char* out_;
  std::size_t size_ = 0;
  std::uint32_t count_ = 0;
};

std::size_t ByteAt(const char* text, std::size_t i) { return static_cast<unsigned char>(text[i]); }

}  // namespace

std::span<const std::uint64_t> EncodeCall(match::Attributes attributes, std::int64_t cost,
                                          std::uint64_t caller, std::uint32_t level, WallTime time,
                                          ItemBuffer& buffer) {
  TextWriter text(reinterpret_cast<char*>(buffer.data() + kItemHeadWords));
  for (const Attribute& attribute : attributes) {
    if (IsEssential(attribute.name)) text.Add(attribute);
  }
  for (const Attribute& attribute : attributes) {
    if (!IsEssential(attribute.name)) text.Add(attribute);
  }
  const ItemHead head{.words = kItemHeadWords + (text.size() + 7) / 8,
                      .attributes = text.count(),
                      .level_before = level,
                      .level_after = level,
                      .time = time};
  buffer[0] = HeadWord(head);
  buffer[1] = static_cast<std::uint64_t>(time.time_since_epoch().count());
  buffer[2] = static_cast<std::uint64_t>(cost);
  buffer[3] = caller;
  return {buffer.data(), head.words};
}

std::span<const std::uint64_t> EncodeLevelChange(std::uint32_t before, std::uint32_t after,
                                                 WallTime time, ItemBuffer& buffer) {
  buffer[0] = HeadWord({.level_before = before, .level_after = after});
  buffer[1] = static_cast<std::uint64_t>(time.time_since_epoch().count());
  buffer[2] = buffer[3] = 0;
  return {buffer.data(), kItemHeadWords};
}

ItemHead DecodeHead(std::uint64_t head, std::uint64_t time) {
  return {.words = static_cast<std::size_t>(head & 0xFFFF),
          .attributes = static_cast<std::uint32_t>(head >> 16 & 0xFF),
          .level_before = static_cast<std::uint32_t>(head >> 24 & 0xFF),
          .level_after = static_cast<std::uint32_t>(head >> 32 & 0xFF),
          .time = WallTime(Micros(static_cast<std::int64_t>(time)))};
}

void DecodeCall(const std::uint64_t* item, SampledCall& call) {
  const ItemHead head = DecodeHead(item[0], item[1]);
  call.row.time = head.time;
  call.row.cost = static_cast<std::int64_t>(item[2]);
  call.row.duration.reset();
  call.row.attributes.clear();
  call.caller = CallerOf(item);
  const char* text = reinterpret_cast<const char*>(item + kItemHeadWords);
  for (std::uint32_t i = 0; i < head.attributes; ++i) {
    const std::size_t name = ByteAt(text, 0);
    const std::size_t value = ByteAt(text, 1) | ByteAt(text, 2) << 8;
    text += kLengthBytes;
    call.row.attributes.push_back({{text, name}, {text + name, value}});
    text += name + value;
  }
}

}  // namespace sluice::simulate
