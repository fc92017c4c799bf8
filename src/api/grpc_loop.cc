#include "api/grpc_loop.h"

#include <utility>

namespace sluice::api {
namespace {

template <typename Kept>
std::unique_ptr<Kept> TakeLast(std::vector<std::unique_ptr<Kept>>& spare) {
  std::unique_ptr<Kept> last = std::move(spare.back());
  spare.pop_back();
  return last;
}

}  // namespace

GrpcLoop::GrpcLoop(Host& host, const GrpcOptions& options) : host_(host), options_(options) {}

GrpcLoop::~GrpcLoop() = default;

std::unique_ptr<GrpcCall> GrpcLoop::Take() {
  return spare_.empty() ? std::make_unique<GrpcCall>(*this) : TakeLast(spare_);
}

void GrpcLoop::GiveBack(std::unique_ptr<GrpcCall> call) {
  if (call->is_large() || spare_.size() >= kMostSpare) return;
  call->Clear();
  spare_.push_back(std::move(call));
}

std::unique_ptr<GrpcStream> GrpcLoop::TakeStream() {
  return spare_streams_.empty() ? std::make_unique<GrpcStream>() : TakeLast(spare_streams_);
}

void GrpcLoop::GiveBack(std::unique_ptr<GrpcStream> stream) {
  if (stream->watch) GiveBack(std::move(stream->watch));
  if (spare_streams_.size() >= kMostSpare) return;
  stream->Clear();
  spare_streams_.push_back(std::move(stream));
}

Micros GrpcLoop::NextAge() {
  // Steps by the golden ratio fall evenly, however many there are.
  constexpr std::uint32_t kGolden = 0x9E3779B9;
  ages_ += kGolden;
  const std::int64_t tenths = options_.max_connection_age.count() / 10;
  return options_.max_connection_age - Micros(tenths) +
         Micros(2 * tenths * static_cast<std::int64_t>(ages_ >> 16) / (1 << 16));
}

}  // namespace sluice::api
