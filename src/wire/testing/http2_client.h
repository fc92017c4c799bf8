#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nghttp2/nghttp2.h>

namespace sluice::wire::testing {

/// The client's side of an HTTP/2 connection: a real one, without a socket.
class Http2Client {
 public:
  using Fields = std::map<std::string, std::string>;
  struct Answer {
    Fields headers, trailers;
    std::string body;
    bool closed = false;
    std::uint32_t error = 0;

    /// Of the trailers, or of the headers where they are all there is; -1: none.
    [[nodiscard]] int status() const;
    [[nodiscard]] std::string message() const;
  };

  /// `window`: of every stream.
  explicit Http2Client(std::uint32_t window = 65535);
  ~Http2Client();
  Http2Client(const Http2Client&) = delete;
  Http2Client& operator=(const Http2Client&) = delete;

  /// Begins a call of gRPC. `more` are added to the headers, or replace them; an empty value takes
  /// one away.
  std::int32_t Begin(std::string_view path, const Fields& more = {});
  /// Adds to the request's body.
  void Say(std::int32_t stream, std::string_view bytes);
  void End(std::int32_t stream);
  void Cancel(std::int32_t stream);
  /// All of it, with one message.
  std::int32_t Call(std::string_view path, std::string_view message, const Fields& more = {});

  /// What is to be sent.
  [[nodiscard]] std::string Output();
  void Receive(std::string_view bytes);

  [[nodiscard]] const Answer& answer(std::int32_t stream) { return answers_[stream]; }
  /// Last stream and error of each GOAWAY.
  [[nodiscard]] const std::vector<std::pair<std::int32_t, std::uint32_t>>& goodbyes() const {
    return goodbyes_;
  }
  [[nodiscard]] std::size_t pings() const { return pings_; }

 private:
  struct Body {
    std::string bytes;
    bool ended = false;
  };

  static nghttp2_session_callbacks* MakeCallbacks();

  nghttp2_session* session_ = nullptr;
  std::map<std::int32_t, Body> bodies_;
  std::map<std::int32_t, Answer> answers_;
  std::vector<std::pair<std::int32_t, std::uint32_t>> goodbyes_;
  std::size_t pings_ = 0;
};

/// A message with its prefix.
[[nodiscard]] std::string Framed(std::string_view message, bool compressed = false);

}  // namespace sluice::wire::testing
