#include "wire/http_head.h"

#include <algorithm>
#include <cstring>

#include "base/ascii.h"
#include "wire/byte_scan.h"

namespace sluice::wire {
namespace {

constexpr std::size_t kMostHeaders = 250;  // Their places fit into a byte.
constexpr std::size_t kUsualHeaders = 16;
constexpr std::string_view kVersion = "HTTP/1.1\r\n";

bool IsBlank(char c) { return c == ' ' || c == '\t'; }
std::string_view Between(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

HttpMethod VerbOf(std::string_view method) {
  switch (method.size()) {
    case 3:
      if (method == "GET") return HttpMethod::kGet;
      if (method == "PUT") return HttpMethod::kPut;
      break;
    case 4:
      if (method == "POST") return HttpMethod::kPost;
      if (method == "HEAD") return HttpMethod::kHead;
      break;
    case 5:
      if (method == "PATCH") return HttpMethod::kPatch;
      break;
    case 6:
      if (method == "DELETE") return HttpMethod::kDelete;
      break;
    case 7:
      if (method == "OPTIONS") return HttpMethod::kOptions;
      break;
    default:
      break;
  }
  return HttpMethod::kOther;
}

bool IsHost(std::string_view host) { return std::all_of(host.begin(), host.end(), IsHostByte); }

}  // namespace

HttpHead::HttpHead(const HttpLimits& limits) : limits_(limits) {
  limits_.max_headers = std::min(limits_.max_headers, kMostHeaders);
}

void HttpHead::Begin() {
  request_ = {};
  headers_.clear();
  at_ = headers_from_ = content_length_ = 0;
  has_length_ = chunked_ = has_host_ = asks_close_ = asks_keep_alive_ = false;
}

HttpHead::Step HttpHead::Parse(std::string_view bytes) {
  if (headers_from_ == 0) {
    const Step step = ParseRequestLine(bytes);
    if (step != Step::kDone) return step;
  }
  return ParseHeaders(bytes);
}

HttpHead::Step HttpHead::ParseRequestLine(std::string_view bytes) {
  const std::size_t longest = limits_.max_request_line + kLineEnd;
  const char* const begin = bytes.data();
  const char* const end = begin + std::min(bytes.size(), longest);
  const auto more = [&] {
    return bytes.size() < longest ? Step::kMore : Fail(414, "the request line is too long");
  };

  const char* const method_end = SkipToken(begin, end);
  if (method_end == end) return more();
  if (method_end == begin || *method_end != ' ') {
    return Fail(400, "a request begins with a method and one blank");
  }
  request_.method = Between(begin, method_end);
  request_.verb = VerbOf(request_.method);
  if (request_.verb == HttpMethod::kOther && request_.method == "CONNECT") {
    return Fail(501, "this is no proxy: CONNECT is not supported");
  }

  const char* const target = method_end + 1;
  const char* question = nullptr;
  const char* at = SkipTarget(target, end);
  while (at < end && *at == '?') {
    if (question == nullptr) question = at;
    at = SkipTarget(at + 1, end);
  }
  if (at == end) return more();
  if (at == target || *at != ' ') {
    return Fail(400, "a target is visible ASCII without '#', between one blank and another");
  }
  request_.target = Between(target, at);

  const char* const version = at + 1;
  if (static_cast<std::size_t>(end - version) < kVersion.size()) {
    const std::string_view rest = Between(version, end);
    if (rest.find('\n') == std::string_view::npos) return more();
    return Fail(400, "a request line ends in HTTP/1.1, carriage return and line feed");
  }
  if (const Step step = ParseVersion(version); step != Step::kDone) return step;
  if (const Step step = ParseTarget(question); step != Step::kDone) return step;
  at_ = headers_from_ = static_cast<std::size_t>(version - begin) + kVersion.size();
  return Step::kDone;
}

// Ten bytes are there.
HttpHead::Step HttpHead::ParseVersion(const char* at) {
  if (std::memcmp(at, kVersion.data(), kVersion.size()) == 0) return Step::kDone;
  if (std::memcmp(at, "HTTP/", 5) != 0 || !IsDigit(at[5]) || at[6] != '.' || !IsDigit(at[7]) ||
      at[8] != '\r' || at[9] != '\n') {
    return Fail(400, "a request line ends in HTTP/1.1, carriage return and line feed");
  }
  if (at[5] != '1') {
    return Fail(505, request_.method == "PRI" ? "HTTP/2 without negotiation is not supported"
                                              : "only HTTP/1.0 and HTTP/1.1 are supported");
  }
  // A later minor version may be answered as the latest that is known.
  request_.minor_version = at[7] == '0' ? 0 : 1;
  return Step::kDone;
}

HttpHead::Step HttpHead::ParseTarget(const char* question) {
  const std::string_view target = request_.target;
  const char* const end = target.data() + target.size();
  const char* path_end = end;
  if (question != nullptr) {
    path_end = question;
    request_.query = Between(question + 1, end);
  }
  request_.path = Between(target.data(), path_end);
  if (target[0] == '/') return Step::kDone;
  if (target == "*") {
    if (request_.verb == HttpMethod::kOptions) return Step::kDone;
    return Fail(400, "only OPTIONS has the target *");
  }
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!EqualIgnoringCase(request_.path.substr(0, scheme.size()), scheme)) continue;
    const std::string_view rest = request_.path.substr(scheme.size());
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    request_.host = rest.substr(0, slash);
    request_.path = slash == rest.size() ? std::string_view("/") : rest.substr(slash);
    if (!request_.host.empty() && IsHost(request_.host)) return Step::kDone;
    return Fail(400, "the target's host is invalid");
  }
  return Fail(400, "a target begins with '/', http:// or https://");
}

HttpHead::Step HttpHead::ParseHeaders(std::string_view bytes) {
  const std::size_t longest = headers_from_ + limits_.max_header_bytes + kLineEnd;
  const char* const begin = bytes.data();
  const char* const end = begin + std::min(bytes.size(), longest);
  const auto more = [&] {
    return bytes.size() < longest ? Step::kMore : Fail(431, "the headers are too long");
  };

  for (;;) {
    const char* const name = begin + at_;
    if (name == end) return more();
    if (*name == '\r') {
      if (name + 1 == end) return more();
      if (name[1] != '\n') return Fail(400, "a carriage return without a line feed");
      at_ += kLineEnd;
      return Finish();
    }
    const char* const colon = SkipToken(name, end);
    if (colon == end) return more();
    if (colon == name || *colon != ':') return RefuseName(name, colon);

    const char* value = colon + 1;
    while (value < end && IsBlank(*value)) ++value;
    const char* const line_end = SkipValue(value, end);
    if (line_end == end) return more();
    if (*line_end != '\r') return Fail(400, "a control byte in a header's value");
    if (line_end + 1 == end) return more();
    if (line_end[1] != '\n') return Fail(400, "a carriage return without a line feed");
    const char* value_end = line_end;
    while (value_end > value && IsBlank(value_end[-1])) --value_end;

    const Step step = Add(Between(name, colon), Between(value, value_end));
    if (step != Step::kDone) return step;
    at_ = static_cast<std::size_t>(line_end - begin) + kLineEnd;
  }
}

HttpHead::Step HttpHead::RefuseName(const char* begin, const char* at) {
  if (at == begin && IsBlank(*at)) return Fail(400, "a header continues on the next line");
  if (IsBlank(*at)) return Fail(400, "a blank between a header's name and its colon");
  return Fail(400, "a header's line is not a name and a colon");
}

HttpHead::Step HttpHead::Add(std::string_view name, std::string_view value) {
  const HttpName id = FindHttpName(name);
  if (headers_.size() >= limits_.max_headers) return Fail(431, "there are too many headers");
  if (headers_.capacity() == 0) headers_.reserve(kUsualHeaders);
  headers_.push_back({.name = name, .value = value, .id = id});
  if (id == HttpName::kOther) return Step::kDone;
  std::uint8_t& first = request_.first_[static_cast<std::size_t>(id)];
  if (first == 0) first = static_cast<std::uint8_t>(headers_.size());
  return Understand(id, value);
}

HttpHead::Step HttpHead::Understand(HttpName name, std::string_view value) {
  switch (name) {
    case HttpName::kHost:
      if (has_host_) return Fail(400, "there is more than one Host");
      if (!IsHost(value)) return Fail(400, "the Host header is invalid");
      has_host_ = true;
      return Step::kDone;
    case HttpName::kContentLength:
      return UnderstandLength(value);
    case HttpName::kTransferEncoding:
      return UnderstandCoding(value);
    case HttpName::kConnection:
      UnderstandConnection(value);
      return Step::kDone;
    case HttpName::kExpect:
      if (request_.minor_version == 0) return Step::kDone;
      if (!EqualIgnoringCase(value, "100-continue")) {
        return Fail(417, "only 100-continue can be expected");
      }
      request_.expects_continue = true;
      return Step::kDone;
    default:
      return Step::kDone;
  }
}

HttpHead::Step HttpHead::UnderstandLength(std::string_view value) {
  constexpr std::size_t kTooMuch = std::size_t{1} << 60;  // Ten times as much still is a number.
  std::size_t length = 0;
  for (const char c : value) {
    if (!IsDigit(c)) return Fail(400, "the Content-Length is not a number");
    length = std::min(length * 10 + static_cast<std::size_t>(c - '0'), kTooMuch);
  }
  if (value.empty()) return Fail(400, "the Content-Length is not a number");
  if (has_length_ && length != content_length_) {
    return Fail(400, "there is more than one Content-Length");
  }
  has_length_ = true;
  content_length_ = length;
  return Step::kDone;
}

HttpHead::Step HttpHead::UnderstandCoding(std::string_view value) {
  if (request_.minor_version == 0) return Fail(400, "HTTP/1.0 has no Transfer-Encoding");
  if (chunked_) return Fail(400, "there is more than one Transfer-Encoding");
  if (!EqualIgnoringCase(value, "chunked")) {
    return Fail(501, "the only Transfer-Encoding is chunked");
  }
  chunked_ = true;
  return Step::kDone;
}

void HttpHead::UnderstandConnection(std::string_view value) {
  while (!value.empty()) {
    const std::size_t comma = std::min(value.find(','), value.size());
    std::string_view option = value.substr(0, comma);
    value.remove_prefix(std::min(comma + 1, value.size()));
    while (!option.empty() && IsBlank(option.front())) option.remove_prefix(1);
    while (!option.empty() && IsBlank(option.back())) option.remove_suffix(1);
    if (EqualIgnoringCase(option, "close")) asks_close_ = true;
    if (EqualIgnoringCase(option, "keep-alive")) asks_keep_alive_ = true;
  }
}

HttpHead::Step HttpHead::Finish() {
  const bool is_old = request_.minor_version == 0;
  if (!has_host_ && !is_old) return Fail(400, "the Host header is missing");
  if (chunked_ && has_length_) return Fail(400, "both Transfer-Encoding and Content-Length");
  if (content_length_ > std::max(limits_.max_body, limits_.max_large_body)) {
    return Fail(413, "the body is too long");
  }
  request_.headers = headers_;
  if (request_.host.empty()) request_.host = request_.Get(HttpName::kHost);
  request_.keep_alive = !asks_close_ && (!is_old || asks_keep_alive_);
  if (content_length_ == 0 && !chunked_) request_.expects_continue = false;
  return Step::kDone;
}

void HttpHead::Move(const char* from, const char* to) {
  const auto first = reinterpret_cast<std::uintptr_t>(from);
  const std::uintptr_t last = first + at_;
  const auto move = [&](std::string_view& text) {
    const auto place = reinterpret_cast<std::uintptr_t>(text.data());
    // Some are not the client's words: an empty target's "/".
    if (place >= first && place <= last) text = {to + (place - first), text.size()};
  };
  for (std::string_view* const text :
       {&request_.method, &request_.target, &request_.path, &request_.query, &request_.host}) {
    move(*text);
  }
  for (HttpHeader& header : headers_) {
    move(header.name);
    move(header.value);
  }
}

HttpHead::Step HttpHead::Fail(int status, std::string_view reason) {
  error_ = {.status = status, .reason = reason};
  return Step::kError;
}

}  // namespace sluice::wire
