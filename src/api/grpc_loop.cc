#include "api/grpc_loop.h"

#include <utility>

namespace sluice::api {

GrpcLoop::GrpcLoop(Host& host, const GrpcOptions& options) : host_(host), options_(options) {}

GrpcLoop::~GrpcLoop() = default;

std::unique_ptr<GrpcCall> GrpcLoop::Take() {
  if (spare_.empty()) return std::make_unique<GrpcCall>(*this);
  std::unique_ptr<GrpcCall> call = std::move(spare_.back());
  spare_.pop_back();
  return call;
}

void GrpcLoop::GiveBack(std::unique_ptr<GrpcCall> call) {
  if (call->is_large() || spare_.size() >= kMostSpare) return;
  call->Clear();
  spare_.push_back(std::move(call));
}

}  // namespace sluice::api
