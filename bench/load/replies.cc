#include "load/replies.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace sluice::bench {
namespace {

constexpr Reply kIncomplete{0, Verdict::kWrong};

Reply Wrong(std::string_view bytes) { return {bytes.size(), Verdict::kWrong}; }

enum class Step : std::uint8_t { kDone, kMore, kWrong };

// Reads a line of RESP such as ":-42\r\n", and moves `at` behind it.
Step ReadLine(std::string_view bytes, std::size_t& at, char kind, std::int64_t& number) {
  if (at < bytes.size() && bytes[at] != kind) return Step::kWrong;
  std::size_t next = at + 1;
  const bool negative = next < bytes.size() && bytes[next] == '-';
  if (negative) ++next;
  number = 0;
  const std::size_t digits = next;
  while (next < bytes.size() && bytes[next] >= '0' && bytes[next] <= '9') {
    number = number * 10 + (bytes[next++] - '0');
  }
  if (next + 1 >= bytes.size()) {
    return next < bytes.size() && bytes[next] != '\r' ? Step::kWrong : Step::kMore;
  }
  if (next == digits || bytes[next] != '\r' || bytes[next + 1] != '\n') return Step::kWrong;
  if (negative) number = -number;
  at = next + 2;
  return Step::kDone;
}

// A RESP reply of exactly these kinds of value, an array unless there is one; `first` is set to the
// first of them, an integer.
Reply ReadShape(std::string_view bytes, std::string_view kinds, std::int64_t& first) {
  std::size_t at = 0;
  std::int64_t number = 0;
  Step step = Step::kDone;
  if (kinds.size() > 1) {
    step = ReadLine(bytes, at, '*', number);
    if (step == Step::kDone && number != static_cast<std::int64_t>(kinds.size())) {
      step = Step::kWrong;
    }
  }
  for (std::size_t i = 0; i < kinds.size() && step == Step::kDone; ++i) {
    step = ReadLine(bytes, at, kinds[i], number);
    if (i == 0) first = number;
    if (step == Step::kDone && kinds[i] == '$') {
      if (number < 0) return Wrong(bytes);
      at += static_cast<std::size_t>(number) + 2;
      if (at > bytes.size()) return kIncomplete;
    }
  }
  if (step == Step::kMore) return kIncomplete;
  return step == Step::kDone ? Reply{at, Verdict::kAllowed} : Wrong(bytes);
}

// As ReadShape, and the first integer says whether the call is allowed.
Reply ReadVerdict(std::string_view bytes, std::string_view kinds, std::int64_t allowed,
                  std::int64_t denied) {
  std::int64_t first = 0;
  Reply reply = ReadShape(bytes, kinds, first);
  if (reply.verdict != Verdict::kAllowed || first == allowed) return reply;
  if (first != denied) return Wrong(bytes);
  reply.verdict = Verdict::kDenied;
  return reply;
}

constexpr std::string_view kLength = "content-length:";
constexpr std::string_view kEncoding = "transfer-encoding:";

// `name` is in small letters.
bool BeginsWith(std::string_view line, std::string_view name) {
  constexpr char kSmall = 0x20;
  return line.size() >= name.size() &&
         std::equal(name.begin(), name.end(), line.begin(),
                    [](char wanted, char c) { return wanted == (c | kSmall); });
}

bool ReadNumber(std::string_view text, std::size_t& number) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

Verdict VerdictOf(std::string_view status_line) {
  constexpr std::string_view kVersion = "HTTP/1.1 ";
  if (!status_line.starts_with(kVersion)) return Verdict::kWrong;
  const std::string_view status = status_line.substr(kVersion.size(), 4);
  if (status == "200 ") return Verdict::kAllowed;
  return status == "429 " ? Verdict::kDenied : Verdict::kWrong;
}

}  // namespace

Reply ReadHttp(std::string_view bytes) {
  Verdict verdict = Verdict::kWrong;
  bool has_length = false;
  std::size_t length = 0;
  for (std::size_t begin = 0; begin < bytes.size();) {
    const std::size_t end = bytes.find('\n', begin);
    if (end == std::string_view::npos) return kIncomplete;
    if (end == begin || bytes[end - 1] != '\r') return Wrong(bytes);
    const std::string_view line = bytes.substr(begin, end - 1 - begin);
    if (begin == 0) {
      verdict = VerdictOf(line);
    } else if (line.empty()) {
      if (!has_length || verdict == Verdict::kWrong) return Wrong(bytes);
      const std::size_t size = end + 1 + length;
      return size > bytes.size() ? kIncomplete : Reply{size, verdict};
    } else if (BeginsWith(line, kLength)) {
      has_length = ReadNumber(line.substr(kLength.size()), length);
    } else if (BeginsWith(line, kEncoding)) {
      return Wrong(bytes);
    }
    begin = end + 1;
  }
  return kIncomplete;
}

Reply ReadThrottle(std::string_view bytes) { return ReadVerdict(bytes, ":::::", 0, 1); }

Reply ReadCheck(std::string_view bytes) { return ReadVerdict(bytes, ":::::$::", 1, 0); }

Reply ReadCount(std::string_view bytes) {
  std::int64_t count = 0;
  const Reply reply = ReadShape(bytes, ":", count);
  return reply.verdict == Verdict::kAllowed && count <= 0 ? Wrong(bytes) : reply;
}

}  // namespace sluice::bench
