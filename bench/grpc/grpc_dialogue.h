#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "load/dialogue.h"
#include "load/requests.h"

namespace sluice::bench {

/// Unary calls over one HTTP/2 connection, each a stream of its own. Headers are as small as HPACK
/// makes them for a client that repeats itself. Flow control and the server's limit of streams are
/// kept to: what has no room yet waits.
///
/// Replies are ShouldRateLimit's: overall_code says whether the call is allowed. The text of the
/// trailers is not read: a status other than OK comes without a message, and that is wrong.
class GrpcDialogue : public Dialogue {
 public:
  /// Messages as `FramedMessage` makes them, all of one size.
  explicit GrpcDialogue(std::shared_ptr<Requests> messages);

  std::uint64_t Ask(std::string& out) override;
  Reply Hear(std::string_view bytes, std::string& out) override;

  /// A message of gRPC in a DATA frame that ends its stream.
  static std::string FramedMessage(std::string_view message);

 private:
  struct Frame;
  struct Stream {
    std::uint32_t id;
    Verdict verdict = Verdict::kWrong;  ///< Until a message says better.
  };

  /// Where the stream lies in streams_; their number if it is not there.
  [[nodiscard]] std::size_t Find(std::uint32_t id) const;
  Verdict HearSettings(const Frame& frame, std::string& out);
  Verdict HearData(const Frame& frame, std::string& out);
  Verdict HearWindow(const Frame& frame, std::string& out);
  Reply HearHeaders(const Frame& frame, std::string& out);
  /// Sends what was held back, as far as there is room.
  void Release(std::string& out);

  std::shared_ptr<Requests> messages_;
  std::size_t data_size_ = 0;     ///< What a request takes from the window.
  std::size_t request_size_ = 0;  ///< With its frames.
  bool greeted_ = false;
  std::uint32_t next_id_ = 1;
  std::deque<Stream> streams_;  ///< In the order of their requests.
  std::string held_;            ///< Whole requests.
  std::int64_t window_;         ///< What may still be sent on the connection.
  std::size_t most_streams_;
  std::int64_t taken_ = 0;  ///< What was received and not yet given back to the server's window.
};

}  // namespace sluice::bench
