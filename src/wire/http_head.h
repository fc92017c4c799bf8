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
/// Goes forward line by line, and finds an error at the byte that makes it one: the verdict on the
/// first n bytes never depends on how they came, nor on what follows.
class HttpHead {
 public:
  enum class Step : std::uint8_t { kMore, kDone, kError };

  explicit HttpHead(const HttpLimits& limits);

  /// Forgets the request before.
  void Begin();

  /// `bytes` begins where the head begins, and holds what was given before, at the same place or
  /// announced by Move. Lines that are whole are not looked at twice.
  Step Parse(std::string_view bytes);

  /// The head's bytes, at `from` until now, are found at `to`.
  void Move(const char* from, const char* to);

  /// The bytes of all lines that are whole; of the whole head once it is done.
  [[nodiscard]] std::size_t size() const { return at_; }
  /// The head never is longer; bytes after these need not be kept.
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
  std::size_t headers_from_ = 0;  ///< Where the first line ends; zero before.
  std::size_t content_length_ = 0;
  bool has_length_ = false;
  bool chunked_ = false;
  bool has_host_ = false;
  bool asks_close_ = false;
  bool asks_keep_alive_ = false;
};

}  // namespace sluice::wire
