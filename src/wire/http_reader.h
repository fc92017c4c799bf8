#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "wire/http_chunks.h"
#include "wire/http_head.h"
#include "wire/http_limits.h"
#include "wire/http_request.h"

namespace sluice::wire {

/// Incremental parser of HTTP/1.0 and HTTP/1.1 requests.
///
/// Strict against request smuggling: everything that RFC 9112 allows a server to reject is
/// rejected. The result does not depend on how the bytes were split.
///
/// A request that is complete in the caller's bytes is not copied; others are buffered here. Does
/// not allocate in the steady state; memory is bounded by the received bytes.
///
///     for (;;) {
///       switch (reader.Read(bytes)) {
///         case HttpReader::Status::kRequest:  Answer(reader.request()); break;
///         case HttpReader::Status::kContinue: output += kHttpContinue; break;
///         case HttpReader::Status::kLargeBody: break;
///         case HttpReader::Status::kError:    Refuse(reader.error()); return;
///         case HttpReader::Status::kMore:     return;
///       }
///     }
class HttpReader {
 public:
  enum class Status : std::uint8_t {
    kMore,      ///< All bytes were consumed; the request is incomplete.
    kRequest,   ///< `request()` is complete.
    kContinue,  ///< `request()` is complete except for its body, which follows after "100
                ///< Continue".
    /// `request()` is complete except for its body, which may be larger than `max_body`. It is
    /// rejected unless AllowLargeBody is called.
    kLargeBody,
    kError,  ///< See error(). Final.
  };

  explicit HttpReader(const HttpLimits& limits = {})
      : limits_(limits), body_limits_(limits), head_(limits) {}
  HttpReader(const HttpReader&) = delete;
  HttpReader& operator=(const HttpReader&) = delete;

  /// Consumes one request from the front of `bytes`. Call again with the rest.
  Status Read(std::string_view& bytes);

  /// After kLargeBody: allows a body of up to `max_large_body` bytes for this request.
  void AllowLargeBody() { body_limits_.max_body = limits_.max_large_body; }

  /// Valid until the next Read, or until the caller's bytes are destroyed.
  [[nodiscard]] const HttpRequest& request() const { return head_.request(); }

  [[nodiscard]] const HttpError& error() const { return error_; }

  /// Memory for buffered input.
  [[nodiscard]] std::size_t held() const { return kept_capacity_ + body_.capacity(); }

  /// True while a request is incomplete.
  [[nodiscard]] bool in_request() const {
    return stage_ != Stage::kStart && stage_ != Stage::kDone && stage_ != Stage::kFailed;
  }

 private:
  enum class Stage : std::uint8_t { kStart, kHead, kLargeBody, kFixed, kChunked, kDone, kFailed };

  void Begin();
  Status SkipEmptyLines(std::string_view& bytes);
  Status ReadHead(std::string_view& bytes);
  Status EndHead(std::string_view& bytes);
  Status BeginBody(std::string_view& bytes);
  Status ReadFixedBody(std::string_view& bytes);
  Status ReadChunks(std::string_view& bytes);
  Status Complete(std::string_view body);
  Status Fail(const HttpError& error);
  void Keep(std::string_view bytes);
  void KeepHead();

  const HttpLimits limits_;
  HttpLimits body_limits_;  ///< Of this request's body.
  HttpHead head_;
  HttpChunks chunks_;
  HttpError error_;
  Stage stage_ = Stage::kStart;
  int empty_lines_ = 0;  ///< Before the request.
  bool half_empty_line_ = false;
  std::size_t body_left_ = 0;
  std::string body_;  ///< Body that was received in several parts or in chunks.

  const char* head_at_ = nullptr;  ///< A complete head, in `kept_` or in the caller's bytes.
  // Buffered head of an incomplete request.
  std::unique_ptr<char[]> kept_;
  std::size_t kept_size_ = 0;
  std::size_t kept_capacity_ = 0;
};

}  // namespace sluice::wire
