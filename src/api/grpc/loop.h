#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "api/call_session.h"
#include "api/grpc/call.h"
#include "api/grpc/options.h"
#include "api/grpc/stream.h"
#include "api/server_services.h"
#include "wire/gzip.h"
#include "wire/http2_memory.h"

namespace sluice::api {

/// State shared by the gRPC sessions of one loop; used on that loop's thread only. Must outlive its
/// sessions, and whatever a store has not answered yet.
class GrpcLoop {
 public:
  GrpcLoop(ServerServices& services, const GrpcOptions& options)
      : services_(services),
        options_(options),
        receipts_(options.receipts.secret, options.receipts.lifetime),
        batch_(services, Protocol::kGrpc) {}
  GrpcLoop(const GrpcLoop&) = delete;
  GrpcLoop& operator=(const GrpcLoop&) = delete;

  [[nodiscard]] ServerServices& services() { return services_; }
  [[nodiscard]] const GrpcOptions& options() const { return options_; }

  [[nodiscard]] ReceiptSigner& receipts() { return receipts_; }

  /// An empty call. It is given back for the next message.
  [[nodiscard]] std::unique_ptr<GrpcCall> Take() { return calls_.Take(*this); }
  void GiveBack(std::unique_ptr<GrpcCall> call) { calls_.GiveBack(std::move(call)); }

  // ---- For sessions.

  [[nodiscard]] std::unique_ptr<GrpcStream> TakeStream() { return streams_.Take(); }
  void GiveBack(std::unique_ptr<GrpcStream> stream) {
    if (stream->watch) GiveBack(std::move(stream->watch));
    streams_.GiveBack(std::move(stream));
  }
  [[nodiscard]] CheckBatch& batch() { return batch_; }

  [[nodiscard]] wire::Http2Memory& memory() { return memory_; }
  [[nodiscard]] wire::Gzip& gzip() { return gzip_; }
  /// Room for what gzip makes; good until it is asked for again.
  [[nodiscard]] std::string& room() { return room_; }

  /// How long the next connection may live: by up to a tenth more or less than the options say, so
  /// that those that came together don't go together.
  [[nodiscard]] Micros NextAge();

 private:
  ServerServices& services_;
  const GrpcOptions options_;
  ReceiptSigner receipts_;
  wire::Http2Memory memory_;
  wire::Gzip gzip_;
  std::string room_;
  CallPool<GrpcCall> calls_;
  CallPool<GrpcStream> streams_;
  CheckBatch batch_;
  std::uint32_t ages_ = 0;
};

}  // namespace sluice::api
