#pragma once

#include <cstddef>
#include <string_view>

#include <sluice/time.h>

#include "api/receipt_text.h"

namespace sluice::api {

struct GrpcMethod;
/// See grpc_methods.h.
[[nodiscard]] const GrpcMethod* FindGrpcMethod(std::string_view path);

/// How gRPC sessions behave. Times of zero: no bound.
struct GrpcOptions {
  Micros deadline = std::chrono::milliseconds(15);  ///< For callers that give none.
  std::size_t max_message_bytes = std::size_t{1} << 20;
  std::size_t max_decompressed_bytes = std::size_t{64} << 10;  ///< Of a compressed message.
  std::size_t max_header_bytes = std::size_t{16} << 10;
  std::size_t max_streams = 1024;
  /// From a call's first byte to its last.
  Micros request_timeout = std::chrono::seconds(10);
  /// No call open.
  Micros idle_timeout = std::chrono::minutes(5);
  /// Then the client is asked to come again; calls under way have `grace` to end.
  Micros max_connection_age{0};
  Micros max_connection_age_grace = std::chrono::seconds(10);
  /// A client that is quiet for so long is pinged; one that does not answer in time is gone.
  Micros keepalive_interval = std::chrono::minutes(2);
  Micros keepalive_timeout = std::chrono::seconds(20);
  ReceiptOptions receipts{};
  /// The table of methods.
  const GrpcMethod* (*find_method)(std::string_view path) = FindGrpcMethod;
};

}  // namespace sluice::api
