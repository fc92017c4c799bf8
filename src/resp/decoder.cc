#include "resp/decoder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/ascii.h"
#include "base/parse_number.h"

namespace sluice::resp {
namespace {

constexpr std::size_t kFirstCapacity = 4096;
// Releases the memory of an unusually large reply.
constexpr std::size_t kKeptBytes = 256U << 10;
constexpr std::size_t kKeptNodes = 4096;
constexpr std::size_t kEndBytes = 2;     // "\r\n"
constexpr std::size_t kFormatBytes = 4;  // "txt:" before a verbatim string
constexpr std::size_t kShownBytes = 40;

// Formats found bytes for a message.
std::string Shown(std::string_view bytes) {
  std::string shown = "'";
  for (const char c : bytes.substr(0, kShownBytes)) {
    if (c >= ' ' && c <= '~') {
      shown.push_back(c);
    } else {
      AppendHex(c, shown.append("\\x"));
    }
  }
  return shown.append(bytes.size() > kShownBytes ? "'..." : "'");
}

std::optional<std::int64_t> ParseInteger(std::string_view line) {
  if (line.starts_with('+') && !line.starts_with("+-")) line.remove_prefix(1);
  return ParseNumber<std::int64_t>(line);
}

std::optional<double> ParseDouble(std::string_view line) {
  if (line.starts_with('+') && !line.starts_with("+-")) line.remove_prefix(1);
  const bool negative = line.starts_with('-');
  const std::string_view size = negative ? line.substr(1) : line;
  if (size == "inf") return std::numeric_limits<double>::infinity() * (negative ? -1 : 1);
  if (size == "nan") return std::numeric_limits<double>::quiet_NaN();
  // from_chars also knows "infinity" and "nan(...)", which RESP does not.
  if (size.empty() || !IsDigit(size[0])) return std::nullopt;
  return ParseNumber<double>(line);
}

bool IsBigNumber(std::string_view line) {
  if (line.starts_with('-') || line.starts_with('+')) line.remove_prefix(1);
  return !line.empty() && line.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

Decoder::Decoder(const DecoderLimits& limits) : limits_(limits) {
  // Maximum of Node::size.
  constexpr std::size_t kMost = std::numeric_limits<std::uint32_t>::max();
  limits_.max_text = std::min(limits_.max_text, kMost);
  limits_.max_elements = std::min(limits_.max_elements, kMost);
}

void Decoder::Feed(std::string_view bytes) {
  const std::span<char> room = Prepare(bytes.size());
  if (!bytes.empty()) std::memcpy(room.data(), bytes.data(), bytes.size());
  Commit(bytes.size());
}

std::span<char> Decoder::Prepare(std::size_t at_least) {
  DiscardReply();
  if (capacity_ - end_ < at_least) {
    const std::size_t held = end_ - begin_;
    if (capacity_ - held < at_least) {
      const std::size_t capacity = std::max({kFirstCapacity, 2 * capacity_, held + at_least});
      auto larger = std::make_unique_for_overwrite<char[]>(capacity);
      if (held > 0) std::memcpy(larger.get(), buffer_.get() + begin_, held);
      buffer_ = std::move(larger);
      capacity_ = capacity;
    } else {
      std::memmove(buffer_.get(), buffer_.get() + begin_, held);
    }
    begin_ = 0;
    end_ = held;
  }
  return {buffer_.get() + end_, capacity_ - end_};
}

void Decoder::DiscardReply() {
  if (!complete_) return;
  complete_ = false;
  begin_ += at_;
  at_ = scanned_ = wanted_ = elements_ = 0;
  nodes_.clear();
  if (nodes_.capacity() > kKeptNodes) nodes_ = {};
  if (begin_ == end_) {
    begin_ = end_ = 0;
    if (capacity_ > kKeptBytes) {
      buffer_.reset();
      capacity_ = 0;
    }
  }
}

Decoder::Status Decoder::Next() {
  if (failed()) return Status::kError;
  DiscardReply();
  for (;;) {
    switch (ParseElement()) {
      case Step::kElement:
        if (!CloseAggregates()) break;
        complete_ = true;
        return Status::kReply;
      case Step::kOpened:
        break;
      case Step::kNeedMore:
        return Status::kNeedMore;
      case Step::kError:
        return Status::kError;
    }
  }
}

Decoder::Step Decoder::ParseElement() {
  const std::size_t held = end_ - begin_;
  if (held == at_ || held < wanted_) return Step::kNeedMore;
  std::string_view line;
  const auto line_end = FindLine(line);
  if (failed()) return Step::kError;
  if (!line_end) return Step::kNeedMore;
  const char type = buffer_[begin_ + at_];
  switch (type) {
    case '$':
      return ParseText(Type::kBulk, line, *line_end);
    case '!':
      return ParseText(Type::kBulkError, line, *line_end);
    case '=':
      return ParseText(Type::kVerbatim, line, *line_end);
    case '*':
    case '%':
    case '~':
    case '>':
    case '|':
      return OpenAggregate(type, line, *line_end);
    default:
      return ParseLineValue(type, line, *line_end);
  }
}

// Returns the end of the line at at_, and its content after the type.
std::optional<std::size_t> Decoder::FindLine(std::string_view& line) {
  constexpr std::string_view kTypes = "+-:$*_,#(!=%~>|";
  const char* const bytes = buffer_.get() + begin_;
  const std::size_t held = end_ - begin_;
  if (kTypes.find(bytes[at_]) == std::string_view::npos) {
    Fail("no value begins with " + Shown({bytes + at_, 1}) + ": this does not speak RESP");
    return std::nullopt;
  }
  const std::size_t from = std::max(at_ + 1, scanned_);
  const void* const found = from < held ? std::memchr(bytes + from, '\r', held - from) : nullptr;
  const std::size_t line_end =
      found == nullptr ? held : static_cast<std::size_t>(static_cast<const char*>(found) - bytes);
  line = {bytes + at_ + 1, line_end - at_ - 1};
  scanned_ = line_end;
  if (line.size() > limits_.max_line) {
    Fail("a line of more than " + std::to_string(limits_.max_line) + " bytes: " + Shown(line));
    return std::nullopt;
  }
  if (line_end + 1 >= held) return std::nullopt;
  if (bytes[line_end + 1] != '\n') {
    Fail("a carriage return without a line feed after " + Shown(line));
    return std::nullopt;
  }
  if (line_end + kEndBytes > limits_.max_bytes) {
    Fail("a reply of more than " + std::to_string(limits_.max_bytes) + " bytes");
    return std::nullopt;
  }
  return line_end + kEndBytes;
}

std::optional<std::size_t> Decoder::Length(std::string_view line) {
  if (const auto length = ParseNumber<std::uint64_t>(line)) return length;
  if (line == "?") {
    Fail("streamed strings and aggregates are not supported");
  } else {
    Fail("a length must be a number, not " + Shown(line));
  }
  return std::nullopt;
}

Decoder::Step Decoder::ParseText(Type type, std::string_view line, std::size_t line_end) {
  if (type == Type::kBulk && line == "-1") {
    nodes_.emplace_back();
    at_ = line_end;
    return Step::kElement;
  }
  const auto length = Length(line);
  if (!length) return Step::kError;
  if (*length > limits_.max_text) {
    return Fail("a string of " + std::to_string(*length) + " bytes; at most " +
                std::to_string(limits_.max_text) + " are allowed");
  }
  if (line_end + *length + kEndBytes > limits_.max_bytes) {
    return Fail("a reply of more than " + std::to_string(limits_.max_bytes) + " bytes");
  }
  wanted_ = line_end + *length + kEndBytes;
  if (end_ - begin_ < wanted_) return Step::kNeedMore;
  const char* const text = buffer_.get() + begin_ + line_end;
  if (text[*length] != '\r' || text[*length + 1] != '\n') {
    return Fail("a string of " + std::to_string(*length) + " bytes does not end where it should: " +
                Shown({text + *length, kEndBytes}) + " instead of a line's end");
  }
  std::size_t skipped = 0;
  if (type == Type::kVerbatim) {
    if (*length < kFormatBytes || text[kFormatBytes - 1] != ':') {
      return Fail("a verbatim string without its format: " + Shown({text, *length}));
    }
    skipped = kFormatBytes;
  }
  AddText(type, line_end + skipped, *length - skipped);
  at_ = wanted_;
  return Step::kElement;
}

void Decoder::AddText(Type type, std::size_t from, std::size_t size) {
  Node& node = nodes_.emplace_back();
  node.type = type;
  node.size = static_cast<std::uint32_t>(size);
  node.offset = from;
}

// Values of one line.
Decoder::Step Decoder::ParseLineValue(char type, std::string_view line, std::size_t line_end) {
  const auto add = [&](Type node_type) -> Node& {
    AddText(node_type, at_ + 1, line.size());
    at_ = line_end;
    return nodes_.back();
  };
  switch (type) {
    case ':': {
      const auto number = ParseInteger(line);
      if (!number) return Fail("no 64-bit integer: " + Shown(line));
      add(Type::kInteger).integer = *number;
      return Step::kElement;
    }
    case ',': {
      const auto number = ParseDouble(line);
      if (!number) return Fail("no double: " + Shown(line));
      add(Type::kDouble).number = *number;
      return Step::kElement;
    }
    case '#':
      if (line != "t" && line != "f") return Fail("no boolean: " + Shown(line));
      add(Type::kBoolean).integer = line == "t" ? 1 : 0;
      return Step::kElement;
    case '_':
      if (!line.empty()) return Fail("a null with something in it: " + Shown(line));
      add(Type::kNull);
      return Step::kElement;
    case '(':
      if (!IsBigNumber(line)) return Fail("no number: " + Shown(line));
      add(Type::kBigNumber);
      return Step::kElement;
    default:
      if (line.find('\n') != std::string_view::npos) {
        return Fail("a line feed without a carriage return in " + Shown(line));
      }
      add(type == '+' ? Type::kSimpleString : Type::kError);
      return Step::kElement;
  }
}

Decoder::Step Decoder::OpenAggregate(char type, std::string_view line, std::size_t line_end) {
  if (type == '*' && line == "-1") {
    nodes_.emplace_back();
    at_ = line_end;
    return Step::kElement;
  }
  const auto count = Length(line);
  if (!count) return Step::kError;
  if (type == '>' && !frames_.empty()) return Fail("a push message inside a reply");
  const std::size_t each = type == '%' || type == '|' ? 2 : 1;
  if (*count > limits_.max_elements || elements_ + *count * each > limits_.max_elements) {
    return Fail("more than " + std::to_string(limits_.max_elements) + " values in a reply");
  }
  if (frames_.size() >= limits_.max_depth) {
    return Fail("more than " + std::to_string(limits_.max_depth) + " aggregates inside each other");
  }
  elements_ += *count * each;
  at_ = line_end;
  const bool is_attribute = type == '|';
  if (is_attribute && *count == 0) return Step::kOpened;
  if (!is_attribute) {
    Node& node = nodes_.emplace_back();
    node.type = type == '*'   ? Type::kArray
                : type == '%' ? Type::kMap
                : type == '~' ? Type::kSet
                              : Type::kPush;
    node.size = static_cast<std::uint32_t>(*count * each);
    node.span = 1;
    if (*count == 0) return Step::kElement;
  }
  frames_.push_back({nodes_.size() - (is_attribute ? 0 : 1), *count * each, is_attribute});
  return Step::kOpened;
}

// After an element: whether the reply is complete with it.
bool Decoder::CloseAggregates() {
  while (!frames_.empty()) {
    Frame& frame = frames_.back();
    if (--frame.left > 0) return false;
    const Frame closed = frame;
    frames_.pop_back();
    if (closed.is_attribute) {
      nodes_.resize(closed.node);
      return false;  // The attributed value follows.
    }
    nodes_[closed.node].span = nodes_.size() - closed.node;
  }
  return true;
}

Decoder::Step Decoder::Fail(std::string message) {
  error_ = std::move(message);
  return Step::kError;
}

}  // namespace sluice::resp
