#include "wire/command_reader.h"

#include <cstring>

#include "base/ascii.h"

namespace sluice::wire {
namespace {

constexpr std::string_view kEnd = "\r\n";
// No length that anybody may ask for has more digits.
constexpr std::int64_t kLongest = 1'000'000'000'000;
// An idle connection keeps no more than this.
constexpr std::size_t kSpareBytes = 16U << 10;
constexpr std::size_t kSpareArguments = 256;

bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

char Escaped(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'b':
      return '\b';
    case 'a':
      return '\a';
    default:
      return c;
  }
}

// Unescapes quoted text into `out`. `at` moves from after the opening quote to after the closing
// one. Returns false if there is none, or if text follows it without a space.
bool Unquote(std::string_view line, std::size_t& at, char quote, std::string& out) {
  while (at < line.size()) {
    const char c = line[at++];
    if (c == quote) return at == line.size() || IsSpace(line[at]);
    if (c != '\\' || at == line.size()) {
      out += c;
    } else if (quote == '\'') {
      out += line[at] == '\'' ? line[at++] : c;
    } else if (line[at] == 'x' && HexByte(line.substr(at + 1)) >= 0) {
      out += static_cast<char>(HexByte(line.substr(at + 1)));
      at += 3;
    } else {
      out += Escaped(line[at++]);
    }
  }
  return false;
}

}  // namespace

void CommandReader::Feed(std::string_view bytes) {
  Discard();
  if (begin_ == end_) {
    begin_ = at_ = bytes.data();
    end_ = begin_ + bytes.size();
    is_borrowed_ = true;
    return;
  }
  const auto unread = static_cast<std::size_t>(end_ - begin_);
  const auto from = static_cast<std::size_t>(begin_ - kept_.data());
  // Growing may move the bytes and invalidate pointers. Parsed bytes are dropped when they are the
  // larger part, so that the cost of moving is amortized.
  std::size_t offset = from;
  if (from >= unread) {
    const char* const old = begin_;
    std::memmove(kept_.data(), old, unread);
    kept_.resize(unread);
    MoveTo(kept_.data());
    offset = 0;
  }
  if (kept_.size() + bytes.size() > kept_.capacity()) {
    std::string larger;
    larger.reserve(2 * (kept_.size() + bytes.size()));
    larger += kept_;
    MoveTo(larger.data() + offset);
    kept_.swap(larger);
  }
  kept_ += bytes;
  end_ = kept_.data() + kept_.size();
}

void CommandReader::Keep() {
  Discard();
  if (begin_ == end_) {
    begin_ = at_ = end_ = nullptr;
    if (kept_.capacity() > kSpareBytes) std::string().swap(kept_);
    if (unquoted_.capacity() > kSpareBytes) std::string().swap(unquoted_);
    if (arguments_.capacity() > kSpareArguments) {
      std::vector<std::string_view>().swap(arguments_);
    }
    kept_.clear();
  } else if (is_borrowed_) {
    kept_.assign(begin_, end_);
    MoveTo(kept_.data());
    end_ = kept_.data() + kept_.size();
  }
  is_borrowed_ = false;
}

// The current command's bytes lie elsewhere now.
void CommandReader::MoveTo(const char* place) {
  for (std::string_view& argument : arguments_) {
    argument = {place + (argument.data() - begin_), argument.size()};
  }
  at_ = place + (at_ - begin_);
  end_ = place + (end_ - begin_);
  begin_ = place;
}

void CommandReader::Discard() {
  if (!complete_) return;
  complete_ = false;
  begin_ = at_;
  scanned_ = 0;
  arguments_.clear();
}

CommandReader::Status CommandReader::Fail(std::string_view what) {
  error_.assign("Protocol error: ").append(what);
  begin_ = at_ = end_;
  arguments_.clear();
  return Status::kError;
}

CommandReader::Status CommandReader::Next() {
  if (!error_.empty()) return Status::kError;
  Discard();
  while (left_ == 0) {
    if (at_ == end_) return Status::kNeedMore;
    const Status status = *at_ == '*' ? ReadHeader() : ReadInline();
    if (status != Status::kCommand || complete_) return status;
  }
  return ReadArguments();
}

// A whole number and the end of the line after the type at `at_`, as Redis reads them: no leading
// zeros, no plus.
CommandReader::Line CommandReader::ReadLength(std::int64_t& length, const char*& next) const {
  const char* at = at_ + 1;
  const bool is_negative = at != end_ && *at == '-';
  if (is_negative) ++at;
  const char* const digits = at;
  std::int64_t number = 0;
  while (at != end_ && *at >= '0' && *at <= '9') {
    if ((number == 0 && at != digits) || number > kLongest) return Line::kWrong;
    number = number * 10 + (*at++ - '0');
  }
  if (at == end_) return Line::kPart;
  if (at == digits || *at++ != '\r' || (is_negative && number == 0)) return Line::kWrong;
  if (at == end_) return Line::kPart;
  if (*at++ != '\n') return Line::kWrong;
  length = is_negative ? -number : number;
  next = at;
  return Line::kWhole;
}

// The same for lengths of one digit and of two, which are most.
inline CommandReader::Line CommandReader::ReadShortLength(std::int64_t& length,
                                                          const char*& next) const {
  const auto digit = [](char c) { return static_cast<unsigned>(c - '0'); };
  constexpr std::ptrdiff_t kMostBytes = 5;
  if (end_ - at_ < kMostBytes) return ReadLength(length, next);
  const unsigned first = digit(at_[1]);
  if (first <= 9 && at_[2] == '\r' && at_[3] == '\n') {
    length = first;
    next = at_ + 4;
    return Line::kWhole;
  }
  const unsigned second = digit(at_[2]);
  if (first >= 1 && first <= 9 && second <= 9 && at_[3] == '\r' && at_[4] == '\n') {
    length = first * 10 + second;
    next = at_ + kMostBytes;
    return Line::kWhole;
  }
  return ReadLength(length, next);
}

// kCommand: go on.
CommandReader::Status CommandReader::ReadHeader() {
  std::int64_t count = 0;
  const char* next = nullptr;
  const Line line = ReadShortLength(count, next);
  if (line == Line::kPart) return Status::kNeedMore;
  if (line == Line::kWrong || count > static_cast<std::int64_t>(limits_.max_arguments)) {
    return Fail("invalid multibulk length");
  }
  at_ = next;
  if (count <= 0) {
    begin_ = at_;
  } else {
    left_ = static_cast<std::size_t>(count);
  }
  return Status::kCommand;
}

CommandReader::Status CommandReader::ReadArguments() {
  do {
    if (at_ == end_) return Status::kNeedMore;
    if (*at_ != '$') {
      constexpr std::string_view kExpected = "expected '$', got '";
      return Fail(std::string(kExpected) + *at_ + "'");
    }
    std::int64_t length = 0;
    const char* text = nullptr;
    const Line line = ReadShortLength(length, text);
    if (line == Line::kPart) return Status::kNeedMore;
    if (line == Line::kWrong || length < 0 ||
        length > static_cast<std::int64_t>(limits_.max_argument)) {
      is_too_large_ = length > 0;
      return Fail("invalid bulk length");
    }
    const auto size = static_cast<std::size_t>(length);
    if (static_cast<std::size_t>(text - begin_) + size + kEnd.size() > limits_.max_bytes) {
      is_too_large_ = true;
      return Fail("too big command");
    }
    const auto arrived = static_cast<std::size_t>(end_ - text);
    if (arrived > size && text[size] != '\r') return Fail("expected CRLF after a bulk string");
    if (arrived < size + kEnd.size()) return Status::kNeedMore;
    if (text[size + 1] != '\n') return Fail("expected CRLF after a bulk string");
    arguments_.emplace_back(text, size);
    at_ = text + size + kEnd.size();
  } while (--left_ != 0);
  complete_ = true;
  return Status::kCommand;
}

// kCommand without `complete_`: the line was empty.
CommandReader::Status CommandReader::ReadInline() {
  const auto arrived = static_cast<std::size_t>(end_ - begin_);
  const void* const found = std::memchr(begin_ + scanned_, '\n', arrived - scanned_);
  scanned_ = arrived;
  const auto* const newline = static_cast<const char*>(found);
  const std::size_t length =
      found != nullptr ? static_cast<std::size_t>(newline - begin_) : arrived;
  if (length > limits_.max_inline) {
    is_too_large_ = true;
    return Fail("too big inline request");
  }
  if (found == nullptr) return Status::kNeedMore;
  std::string_view line(begin_, length);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (!SplitLine(line.substr(0, line.find('\0')))) return Fail("unbalanced quotes in request");
  at_ = newline + 1;
  complete_ = true;
  if (arguments_.size() > limits_.max_arguments) return Fail("invalid multibulk length");
  if (arguments_.empty()) Discard();
  return Status::kCommand;
}

// Words between spaces; in double quotes with escapes, in single ones as they are. False: a quote
// is not closed, or not followed by a space.
bool CommandReader::SplitLine(std::string_view line) {
  unquoted_.clear();
  unquoted_.reserve(line.size());  // Unquoting makes nothing longer, so nothing moves below.
  std::size_t at = 0;
  while (true) {
    while (at < line.size() && IsSpace(line[at])) ++at;
    if (at == line.size()) return true;
    const std::size_t plain = at;
    while (at < line.size() && !IsSpace(line[at]) && line[at] != '"' && line[at] != '\'') ++at;
    if (at == line.size() || IsSpace(line[at])) {
      arguments_.push_back(line.substr(plain, at - plain));
      continue;
    }
    const std::size_t begin = unquoted_.size();
    unquoted_.append(line.substr(plain, at - plain));
    const char quote = line[at++];
    if (!Unquote(line, at, quote, unquoted_)) return false;
    arguments_.emplace_back(unquoted_.data() + begin, unquoted_.size() - begin);
  }
}

}  // namespace sluice::wire
