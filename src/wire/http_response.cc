#include "wire/http_response.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/http_reason.h"
#include "base/parse_number.h"
#include "wire/byte_scan.h"

namespace sluice::wire {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kJson = "application/json";
// Placeholder for the length of a body that is not complete: usual number of digits; others are
// moved.
constexpr std::string_view kUsualLength = "000";
constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr std::size_t kDigits = 20;

// The whole first line where it is one that is often needed.
std::string_view UsualLine(int status) {
  switch (status) {
    case 200:
      return "HTTP/1.1 200 OK\r\nDate: ";
    case 429:
      return "HTTP/1.1 429 Too Many Requests\r\nDate: ";
    default:
      return {};
  }
}

void AppendValue(std::string& output, std::string_view value) {
  const char* at = value.data();
  const char* const end = at + value.size();
  for (;;) {
    const char* const stop = SkipValue(at, end);
    output.append(at, stop);
    if (stop == end) return;
    output.push_back(' ');
    at = stop + 1;
  }
}

}  // namespace

HttpResponse::HttpResponse(std::string& output, int status, std::string_view date,
                           const HttpResponseOptions& options)
    : output_(output),
      head_only_(options.head_only),
      has_chunks_(options.minor_version > 0),
      has_length_(status >= 200 && status != 204 && status != 304) {
  if (const std::string_view line = UsualLine(status); !line.empty()) {
    output_.append(line);
  } else {
    output_.append("HTTP/1.1 ");
    AppendNumber(status, output_);
    output_.append(" ").append(HttpReason(status)).append("\r\nDate: ");
  }
  output_.append(date);
  if (!options.keep_alive) {
    output_.append("\r\nConnection: close");
  } else if (options.minor_version == 0) {
    output_.append("\r\nConnection: keep-alive");
  }
  if (options.is_private) {
    output_.append("\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff");
  }
}

HttpResponse& HttpResponse::Add(std::string_view name, std::string_view value) {
  if (!IsToken(name)) return *this;
  output_.append(kLineEnd).append(name).append(": ");
  AppendValue(output_, value);
  return *this;
}

// In one piece: a response to a check has several of them.
HttpResponse& HttpResponse::Add(std::string_view name, std::int64_t value) {
  constexpr std::size_t kMaxName = 40;
  if (name.size() > kMaxName) return Add(name, std::string_view(std::to_string(value)));
  std::array<char, kMaxName + kDigits + 4> line;
  char* at = std::copy(kLineEnd.begin(), kLineEnd.end(), line.data());
  if (!IsToken(name)) return *this;
  at = std::copy(name.begin(), name.end(), at);
  *at++ = ':';
  *at++ = ' ';
  at = std::to_chars(at, line.data() + line.size(), value).ptr;
  output_.append(line.data(), at);
  return *this;
}

void HttpResponse::AddLength(std::size_t length) {
  if (!has_length_) return;
  output_.append("\r\nContent-Length: ");
  AppendNumber(length, output_);
}

void HttpResponse::Finish(std::string_view content_type, std::string_view body) {
  if (!has_length_) return Finish();
  output_.append("\r\nContent-Type: ");
  AppendValue(output_, content_type);
  AddLength(body.size());
  output_.append(kHeadEnd);
  if (!head_only_) output_.append(body);
}

void HttpResponse::Finish() {
  AddLength(0);
  output_.append(kHeadEnd);
}

std::string& HttpResponse::BeginBody(std::string_view content_type) {
  if (has_length_ && content_type == kJson) {
    output_.append("\r\nContent-Type: application/json\r\nContent-Length: 000\r\n\r\n");
  } else if (has_length_) {
    output_.append("\r\nContent-Type: ");
    AppendValue(output_, content_type);
    output_.append("\r\nContent-Length: ").append(kUsualLength).append(kHeadEnd);
  } else {
    output_.append(kHeadEnd);
  }
  body_at_ = output_.size();
  return output_;
}

void HttpResponse::BeginStream(std::string_view content_type) {
  output_.append("\r\nContent-Type: ");
  AppendValue(output_, content_type);
  if (has_chunks_) output_.append("\r\nTransfer-Encoding: chunked");
  output_.append(kHeadEnd);
}

void AppendChunk(std::string_view bytes, std::string& out) {
  std::array<char, kDigits> digits;
  const auto [end, error] =
      std::to_chars(digits.data(), digits.data() + digits.size(), bytes.size(), 16);
  out.append(digits.data(), end).append(kLineEnd).append(bytes).append(kLineEnd);
}

void HttpResponse::EndBody() {
  if (has_length_) {
    const std::size_t length = output_.size() - body_at_;
    std::array<char, kDigits> digits;
    const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), length);
    const auto size = static_cast<std::size_t>(end - digits.data());
    const std::size_t at = body_at_ - kHeadEnd.size() - kUsualLength.size();
    if (size == kUsualLength.size()) {
      std::copy_n(digits.data(), size, output_.data() + at);
    } else {
      output_.replace(at, kUsualLength.size(), digits.data(), size);
    }
    body_at_ = at + size + kHeadEnd.size();
  }
  if (head_only_ || !has_length_) output_.resize(body_at_);
}

}  // namespace sluice::wire
