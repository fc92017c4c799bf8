#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::wire {

/// The status of a gRPC call, with gRPC's numbers.
enum class GrpcStatus : std::uint8_t {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

/// Returns the value of `grpc-status`.
[[nodiscard]] std::string_view NumberOf(GrpcStatus status);

/// Appends the value of `grpc-message`: '%' and everything but visible ASCII as %XX.
void AppendGrpcMessage(std::string_view message, std::string& out);

}  // namespace sluice::wire
