#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice::bench {

enum class Verdict : std::uint8_t {
  kAllowed,
  kDenied,
  kWrong,  ///< An error, or not what this request is answered with.
  kNone,   ///< Not a reply: something that comes in between.
};

struct Reply {
  std::size_t size;  ///< How many bytes it had; 0 if it is not all there yet.
  Verdict verdict;
  std::size_t turn = 0;  ///< How many requests that were sent before are still waiting.
};

/// Reads the reply that these bytes begin with.
using ReadReply = Reply (*)(std::string_view bytes);

/// An HTTP/1.1 response with a Content-Length: 200 is allowed, 429 denied, everything else wrong.
Reply ReadHttp(std::string_view bytes);
/// RESP: five integers, the first of which is 0 if the call is allowed and 1 if denied.
Reply ReadThrottle(std::string_view bytes);
/// RESP: what SLUICE.CHECK answers: eight values, the first 1 if allowed and 0 if denied.
Reply ReadCheck(std::string_view bytes);
/// RESP: the positive integer that INCR answers: allowed.
Reply ReadCount(std::string_view bytes);

}  // namespace sluice::bench
