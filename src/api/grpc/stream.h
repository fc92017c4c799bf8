#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <sluice/time.h>

#include "api/grpc/call.h"
#include "api/grpc/methods.h"
#include "base/clock.h"
#include "wire/grpc_frame.h"
#include "wire/http2_stream.h"

namespace sluice::api {

/// One request of HTTP/2 as gRPC sees it: a method, its messages, its replies. Made once and used
/// for many.
struct GrpcStream : wire::Http2Stream {
  enum class Encoding : std::uint8_t { kIdentity, kGzip, kUnknown };

  /// Forgets everything but the memory.
  void Clear();
  [[nodiscard]] static bool is_large() { return false; }

  const GrpcMethod* method = nullptr;  ///< Null: the path is that of none.
  bool is_post = false;
  bool is_grpc = false;  ///< By its content-type.
  Encoding encoding = Encoding::kIdentity;
  bool accepts_gzip = false;
  bool bad_timeout = false;
  std::string token;  ///< Of the metadata `authorization`; kept only if the method needs a role.
  std::optional<Micros> timeout;
  TraceContext trace{};
  WallTime began{};           ///< When its headers were there: from then on the timeout counts.
  SteadyTime since{};         ///< When it last came further, as far as the session knew the time.
  std::size_t seen_sent = 0;  ///< Of its body, at the last look.
  bool refused = false;
  std::size_t messages = 0;
  std::size_t held = 0;       ///< Bytes of its messages that the session has counted.
  std::size_t held_body = 0;  ///< And of its replies.
  /// Its place among those whose message is whole, and waits until replies are taken.
  std::optional<std::size_t> waits_at;
  wire::GrpcFrameReader reader;

  GrpcCall* call = nullptr;         ///< Waits for the limiter.
  std::unique_ptr<GrpcCall> watch;  ///< Of a watch.
  std::string watched;              ///< The last status sent.
  std::size_t index = 0;            ///< Among those that are open.
};

}  // namespace sluice::api
