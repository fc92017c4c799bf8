// The peer: a rate limit service made with grpc++ that answers every call with the same OK. It is
// asynchronous, with one thread and one completion queue, and does not even read the question.
//
//   bench_grpcpp_server PORT

#include <deque>
#include <optional>
#include <string>

#include <grpcpp/grpcpp.h>

#include "envoy/service/ratelimit/v3/rls.grpc.pb.h"

namespace {

namespace rls = envoy::service::ratelimit::v3;
using Service =
    rls::RateLimitService::WithRawMethod_ShouldRateLimit<rls::RateLimitService::Service>;

constexpr std::size_t kCallsAtOnce = 1024;

grpc::ByteBuffer Answer() {
  rls::RateLimitResponse response;
  response.set_overall_code(rls::RateLimitResponse::OK);
  auto& status = *response.add_statuses();
  status.set_code(rls::RateLimitResponse::OK);
  status.mutable_current_limit()->set_requests_per_unit(1'000'000'000);
  status.mutable_current_limit()->set_unit(rls::RateLimitResponse::RateLimit::YEAR);
  status.set_limit_remaining(999'999'999);
  status.mutable_duration_until_reset()->set_seconds(10'000'000);
  const grpc::Slice slice(response.SerializeAsString());
  return {&slice, 1};
}

// One call after the other; a step each time that the queue names it.
class Call {
 public:
  Call(Service& service, grpc::ServerCompletionQueue& queue, const grpc::ByteBuffer& answer)
      : service_(service), queue_(queue), answer_(answer) {
    Wait();
  }

  void Step(bool ok) {
    if (asked_ || !ok) return Wait();
    asked_ = true;
    writer_->Finish(answer_, grpc::Status::OK, this);
  }

 private:
  void Wait() {
    asked_ = false;
    writer_.reset();
    context_.emplace();
    writer_.emplace(&*context_);
    service_.RequestShouldRateLimit(&*context_, &question_, &*writer_, &queue_, &queue_, this);
  }

  Service& service_;
  grpc::ServerCompletionQueue& queue_;
  const grpc::ByteBuffer& answer_;
  std::optional<grpc::ServerContext> context_;
  std::optional<grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>> writer_;
  grpc::ByteBuffer question_;
  bool asked_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  Service service;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(std::string("127.0.0.1:") + argv[1], grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  const auto queue = builder.AddCompletionQueue();
  const auto server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  const grpc::ByteBuffer answer = Answer();
  std::deque<Call> calls;
  for (std::size_t i = 0; i < kCallsAtOnce; ++i) calls.emplace_back(service, *queue, answer);
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) static_cast<Call*>(tag)->Step(ok);
  return 0;
}
