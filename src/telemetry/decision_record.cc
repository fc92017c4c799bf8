#include "telemetry/decision_record.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace sluice::telemetry {
namespace {

constexpr std::size_t kMaxText = 256;
constexpr std::size_t kMaxAttributes = 32;

// The header of a record. Texts follow, each behind its length.
struct Head {
  std::uint16_t bytes;  // Of the record.
  std::uint8_t attributes;
  bool allowed;
  bool degraded;
  bool is_secret;
  std::uint16_t protocol;
  std::uint16_t outcome;
  std::int64_t time;
  std::int64_t wait;
  std::uint64_t rules;
  std::int64_t cap;
  std::int64_t remaining;
  std::int64_t cost;
};

class Writer {
 public:
  explicit Writer(char* begin) : at_(begin), end_(begin + DecisionBuffer::kMaxRecordBytes) {}

  [[nodiscard]] std::size_t room() const { return static_cast<std::size_t>(end_ - at_); }
  void Skip(std::size_t bytes) { at_ += bytes; }
  void Text(std::string_view text, std::size_t most = kMaxText) {
    const std::size_t size = std::min({text.size(), most, room() - sizeof(std::uint16_t)});
    const auto length = static_cast<std::uint16_t>(size);
    std::memcpy(at_, &length, sizeof(length));
    at_ = std::copy_n(text.data(), size, at_ + sizeof(length));
  }
  [[nodiscard]] char* at() const { return at_; }

 private:
  char* at_;
  char* end_;
};

std::string_view TakeText(std::string_view& bytes) {
  std::uint16_t size = 0;
  std::memcpy(&size, bytes.data(), sizeof(size));
  const std::string_view text = bytes.substr(sizeof(size), size);
  bytes.remove_prefix(sizeof(size) + size);
  return text;
}

}  // namespace

DecisionBuffer::DecisionBuffer(std::size_t bytes)
    : capacity_(std::max(bytes, 2 * kMaxRecordBytes)),
      bytes_(std::make_unique_for_overwrite<char[]>(capacity_)) {}

bool DecisionBuffer::Append(const DecisionRecord& record) {
  if (DropIfFull()) return false;
  char* const begin = bytes_.get() + used_;
  Writer writer(begin);
  writer.Skip(sizeof(Head));
  // The first four take at most 904 bytes with their lengths and the head.
  writer.Text(record.rule, 128);
  writer.Text(record.limit, 128);
  writer.Text(record.tag);
  writer.Text(record.rest);
  std::uint8_t attributes = 0;
  for (const Attribute& attribute : record.attributes) {
    const std::size_t needed =
        std::min(attribute.value.size(), kMaxText) + std::min(attribute.name.size(), kMaxText);
    if (attributes == kMaxAttributes || writer.room() < needed + 2 * sizeof(std::uint16_t)) break;
    writer.Text(attribute.name);
    writer.Text(attribute.value);
    ++attributes;
  }
  const auto size = static_cast<std::size_t>(writer.at() - begin);
  const Head head{.bytes = static_cast<std::uint16_t>(size),
                  .attributes = attributes,
                  .allowed = record.allowed,
                  .degraded = record.degraded,
                  .is_secret = record.is_secret,
                  .protocol = record.protocol,
                  .outcome = record.outcome,
                  .time = record.time.time_since_epoch().count(),
                  .wait = record.wait.count(),
                  .rules = record.rules,
                  .cap = record.cap,
                  .remaining = record.remaining,
                  .cost = record.cost};
  std::memcpy(begin, &head, sizeof(head));
  used_ += size;
  return true;
}

std::string_view DecisionBuffer::BytesAt(std::size_t at) const {
  std::uint16_t size = 0;
  std::memcpy(&size, bytes_.get() + at, sizeof(size));
  return {bytes_.get() + at, size};
}

WallTime ReadRecordTime(std::string_view bytes) {
  Head head;
  std::memcpy(&head, bytes.data(), sizeof(head));
  return WallTime{Micros{head.time}};
}

void ReadRecord(std::string_view bytes, ReadDecision& out) {
  Head head;
  std::memcpy(&head, bytes.data(), sizeof(head));
  bytes.remove_prefix(sizeof(head));
  DecisionRecord& record = out.record;
  record = {.time = WallTime{Micros{head.time}},
            .allowed = head.allowed,
            .degraded = head.degraded,
            .is_secret = head.is_secret,
            .protocol = head.protocol,
            .outcome = head.outcome,
            .rules = head.rules,
            .cap = head.cap,
            .remaining = head.remaining,
            .cost = head.cost,
            .wait = Micros{head.wait}};
  record.rule = TakeText(bytes);
  record.limit = TakeText(bytes);
  record.tag = TakeText(bytes);
  record.rest = TakeText(bytes);
  out.attributes.clear();
  for (int i = 0; i < head.attributes; ++i) {
    const std::string_view name = TakeText(bytes);
    out.attributes.push_back({.name = name, .value = TakeText(bytes)});
  }
  record.attributes = out.attributes;
}

}  // namespace sluice::telemetry
