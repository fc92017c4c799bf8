#include "telemetry/log_line.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>

#include "base/json_writer.h"
#include "base/parse_number.h"

namespace sluice::telemetry {
namespace {

constexpr std::size_t kMaxMessageBytes = 400;  // Six times that when escaped.
constexpr std::size_t kMaxValueBytes = 400;
constexpr std::size_t kReserved = 64;  // For "suppressed", "cut" and the end.

void AppendPadded(std::int64_t number, std::size_t digits, std::string& out) {
  const std::string text = std::to_string(number);
  if (text.size() < digits) out.append(digits - text.size(), '0');
  out += text;
}

// RFC 3339 with microseconds.
void AppendTime(WallTime at, std::string& out) {
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(at - day);
  AppendPadded(static_cast<int>(date.year()), 4, out);
  out += '-';
  AppendPadded(static_cast<unsigned>(date.month()), 2, out);
  out += '-';
  AppendPadded(static_cast<unsigned>(date.day()), 2, out);
  out += 'T';
  AppendPadded(time.hours().count(), 2, out);
  out += ':';
  AppendPadded(time.minutes().count(), 2, out);
  out += ':';
  AppendPadded(time.seconds().count(), 2, out);
  out += '.';
  AppendPadded(time.subseconds().count(), 6, out);
  out += 'Z';
}

void AppendQuoted(std::string_view text, std::string& out) {
  out += '"';
  AppendJsonEscaped(text, out);
  out += '"';
}

// Text that can't be mistaken for something else stands without quotes.
bool IsPlain(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c > ' ' && c < '\x7F' && c != '"' && c != '\\' && c != '=';
  });
}

// Not within a character.
std::string_view Shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  return text.substr(0, most);
}

void AppendHash(std::string_view key, const KeyHasher& hasher, std::string& out) {
  const KeyHash hash = hasher({.scope = "log", .tag = key});
  std::array<char, 17> digits;
  const std::uint64_t bits = hash.high ^ (hash.low << 3);  // 64 of the 122.
  char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), bits, 16).ptr;
  out += "hash:";
  out.append(16 - static_cast<std::size_t>(end - digits.data()), '0');
  out.append(digits.data(), end);
}

class Line {
 public:
  Line(LogFormat format, const KeyHasher& hasher, std::string& out)
      : json_(format == LogFormat::kJson), hasher_(hasher), out_(out), begin_(out.size()) {}

  void Head(const LogLine& line) {
    if (json_) {
      out_ += R"({"time":")";
      AppendTime(line.at, out_);
      out_ += R"(","level":")";
      out_ += LabelOf(line.level);
      out_ += R"(","message":)";
      AppendQuoted(Cut(line.message, kMaxMessageBytes), out_);
    } else {
      AppendTime(line.at, out_);
      out_ += ' ';
      out_ += LabelOf(line.level);
      out_ += ' ';
      AppendJsonEscaped(Cut(line.message, kMaxMessageBytes), out_);
    }
  }

  void Field(const LogField& field) {
    const std::size_t before = out_.size();
    Name(field.name());
    std::visit([this](const auto& value) { Value(value); }, field.value());
    if (out_.size() - begin_ > kMaxLineBytes - kReserved) {
      out_.resize(before);
      cut_ = true;
    }
  }

  void Foot(std::uint64_t suppressed) {
    if (suppressed != 0) {
      Name("suppressed");
      Value(suppressed);
    }
    if (cut_) {
      Name("cut");
      Value(true);
    }
    out_ += json_ ? "}\n" : "\n";
  }

 private:
  void Name(std::string_view name) {
    out_ += json_ ? ',' : ' ';
    name = Shortened(name, kMaxValueBytes);
    if (!json_ && IsPlain(name)) {
      out_ += name;
    } else {
      AppendQuoted(name, out_);
    }
    out_ += json_ ? ':' : '=';
  }

  std::string_view Cut(std::string_view text, std::size_t most) {
    const std::string_view shortened = Shortened(text, most);
    cut_ = cut_ || shortened.size() != text.size();
    return shortened;
  }

  void Value(std::string_view text) {
    text = Cut(text, kMaxValueBytes);
    if (!json_ && IsPlain(text)) {
      out_ += text;
    } else {
      AppendQuoted(text, out_);
    }
  }
  void Value(bool value) { out_ += value ? "true" : "false"; }
  void Value(std::int64_t number) { AppendNumber(number, out_); }
  void Value(std::uint64_t number) { AppendNumber(number, out_); }
  void Value(double number) {
    if (std::isfinite(number)) {
      AppendNumber(number, out_);
    } else {
      out_ += "null";  // JSON has no other word for it.
    }
  }
  void Value(HashedKey key) {
    std::string hash;
    AppendHash(key.key, hasher_, hash);
    Value(std::string_view(hash));
  }

  const bool json_;
  const KeyHasher& hasher_;
  std::string& out_;
  const std::size_t begin_;
  bool cut_ = false;
};

}  // namespace

void AppendLogLine(const LogLine& line, LogFormat format, const KeyHasher& hasher,
                   std::string& out) {
  Line text(format, hasher, out);
  text.Head(line);
  for (const LogField& field : line.fields) text.Field(field);
  text.Foot(line.suppressed);
}

}  // namespace sluice::telemetry
