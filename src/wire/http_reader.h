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

/// Makes HTTP/1.0 and HTTP/1.1 requests of bytes that arrive in any pieces.
///
/// Strict where two readers of the same bytes could see different requests: what RFC 9112 lets a
/// server refuse is refused. What comes out does not depend on where the bytes were split.
///
/// A request that lies whole in the caller's bytes is not copied; the rest of one that does not is
/// kept here. In the steady state nothing is allocated, and memory is only taken for bytes that
/// have arrived.
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
    kMore,      ///< All of the bytes are taken; there is no whole request yet.
    kRequest,   ///< `request()` is whole.
    kContinue,  ///< `request()` is there but for its body, which comes after "100 Continue".
    /// `request()` is there but for its body, which may be larger than `max_body`. Unless
    /// AllowLargeBody is called, a larger one is refused.
    kLargeBody,
    kError,  ///< `error()` says why; nothing more is read.
  };

  explicit HttpReader(const HttpLimits& limits = {})
      : limits_(limits), body_limits_(limits), head_(limits) {}
  HttpReader(const HttpReader&) = delete;
  HttpReader& operator=(const HttpReader&) = delete;

  /// Takes from the front of `bytes` what belongs to one request. Call again with what is left.
  Status Read(std::string_view& bytes);

  /// After kLargeBody: lets this request's body have up to `max_large_body` bytes.
  void AllowLargeBody() { body_limits_.max_body = limits_.max_large_body; }

  /// Good until Read is called again, or the bytes that it was read from are gone.
  [[nodiscard]] const HttpRequest& request() const { return head_.request(); }

  [[nodiscard]] const HttpError& error() const { return error_; }

  /// Memory for what has arrived of a request.
  [[nodiscard]] std::size_t held() const { return kept_capacity_ + body_.capacity(); }

  /// Whether a request has begun and not ended.
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
  std::string body_;  ///< Of a request whose body came in pieces or in chunks.

  const char* head_at_ =
      nullptr;  ///< Where a head lies that is whole: kept, or in the caller's bytes.
  // What has arrived of a head that was not whole, or whose body was not.
  std::unique_ptr<char[]> kept_;
  std::size_t kept_size_ = 0;
  std::size_t kept_capacity_ = 0;
};

}  // namespace sluice::wire
