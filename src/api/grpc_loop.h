#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api/grpc_call.h"
#include "api/grpc_options.h"
#include "api/grpc_stream.h"
#include "api/host.h"
#include "limiter/limiter.h"
#include "wire/gzip.h"
#include "wire/http2_memory.h"

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

  // ---- For sessions.

  [[nodiscard]] std::unique_ptr<GrpcStream> TakeStream();
  void GiveBack(std::unique_ptr<GrpcStream> stream);

  /// Questions that wait to be asked together. Empty while no session runs.
  struct Batch {
    std::array<GrpcCall::Part*, limiter::Limiter::kMostAtOnce> parts;
    std::size_t size = 0;
  };
  [[nodiscard]] Batch& batch() { return batch_; }

  [[nodiscard]] wire::Http2Memory& memory() { return memory_; }
  [[nodiscard]] wire::Gzip& gzip() { return gzip_; }
  /// Room for what gzip makes; good until it is asked for again.
  [[nodiscard]] std::string& room() { return room_; }

  /// How long the next connection may live: by up to a tenth more or less than the options say, so
  /// that those that came together don't go together.
  [[nodiscard]] Micros NextAge();

 private:
  static constexpr std::size_t kMostSpare = 1024;

  Host& host_;
  const GrpcOptions options_;
  wire::Http2Memory memory_;
  wire::Gzip gzip_;
  std::string room_;
  std::vector<std::unique_ptr<GrpcCall>> spare_;
  std::vector<std::unique_ptr<GrpcStream>> spare_streams_;
  Batch batch_;
  std::uint32_t ages_ = 0;
};

}  // namespace sluice::api
