#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "wire/http_limits.h"
#include "wire/http_request.h"

namespace sluice::wire {

/// Parser of the head of a request: its first line and its headers.
///
/// Parses line by line and detects an error at the first invalid byte: the result for the first n
/// bytes depends neither on how they were split nor on what follows.
class HttpHead {
 public:
  enum class Step : std::uint8_t { kMore, kDone, kError };

  explicit HttpHead(const HttpLimits& limits);

  /// Resets the parser for another request.
  void Begin();

  /// `bytes` starts at the beginning of the head and includes all bytes of earlier calls, at the
  /// same address unless announced by Move. Complete lines are not parsed again.
  Step Parse(std::string_view bytes);

  /// Announces that the head's bytes moved from `from` to `to`.
  void Move(const char* from, const char* to);

  /// Size of all complete lines; of the head once it is done.
  [[nodiscard]] std::size_t size() const { return at_; }
  /// Maximum size of a head.
  [[nodiscard]] std::size_t max_size() const {
    return limits_.max_request_line + limits_.max_header_bytes + 2 * kLineEnd;
  }

  [[nodiscard]] bool chunked() const { return chunked_; }
  [[nodiscard]] std::size_t content_length() const { return content_length_; }
  [[nodiscard]] const HttpRequest& request() const { return request_; }
  void set_body(std::string_view body) { request_.body = body; }
  [[nodiscard]] const HttpError& error() const { return error_; }

 private:
  static constexpr std::size_t kLineEnd = 2;

  Step ParseRequestLine(std::string_view bytes);
  Step ParseVersion(const char* at);
  Step ParseTarget(const char* question);
  Step ParseHeaders(std::string_view bytes);
  Step RefuseName(const char* begin, const char* at);
  Step Add(std::string_view name, std::string_view value);
  Step Understand(HttpName name, std::string_view value);
  Step UnderstandLength(std::string_view value);
  Step UnderstandCoding(std::string_view value);
  void UnderstandConnection(std::string_view value);
  Step Finish();
  Step Fail(int status, std::string_view reason);

  HttpLimits limits_;
  HttpRequest request_;
  std::vector<HttpHeader> headers_;
  HttpError error_;
  std::size_t at_ = 0;
  std::size_t headers_from_ = 0;  ///< End of the first line; 0: not parsed yet.
  std::size_t content_length_ = 0;
  bool has_length_ = false;
  bool chunked_ = false;
  bool has_host_ = false;
  bool asks_close_ = false;
  bool asks_keep_alive_ = false;
};

}  // namespace sluice::wire
