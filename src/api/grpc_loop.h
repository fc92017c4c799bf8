#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "api/grpc_call.h"
#include "api/grpc_options.h"
#include "api/host.h"
#include "limiter/limiter.h"

namespace sluice::api {

/// What the gRPC sessions of one loop share. On that loop's thread only. It must outlive its
/// sessions, and whatever a store has not answered yet.
class GrpcLoop {
 public:
  GrpcLoop(Host& host, const GrpcOptions& options);
  ~GrpcLoop();
  GrpcLoop(const GrpcLoop&) = delete;
  GrpcLoop& operator=(const GrpcLoop&) = delete;

  [[nodiscard]] Host& host() { return host_; }
  [[nodiscard]] const GrpcOptions& options() const { return options_; }

  /// A call that asks nothing yet. Whoever is done with it gives it back, for the next message.
  [[nodiscard]] std::unique_ptr<GrpcCall> Take();
  void GiveBack(std::unique_ptr<GrpcCall> call);

 private:
  static constexpr std::size_t kMostSpare = 1024;

  Host& host_;
  const GrpcOptions options_;
  std::vector<std::unique_ptr<GrpcCall>> spare_;
};

}  // namespace sluice::api
