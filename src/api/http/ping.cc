#include "api/caller.h"
#include "api/http/routes.h"

/// A sample endpoint behind the limiter.
namespace sluice::api {
namespace {

void AnswerPing(HttpCall& call, std::string& out) {
  AnswerCaller(call, Reader::kCaller,
               call.part(0).check.degraded ? R"({"message":"pong","degraded":true})"
                                           : R"({"message":"pong"})",
               out);
}

}  // namespace

void RunPing(HttpExchange& exchange) {
  const wire::HttpRequest& request = exchange.request;
  BeginCall(exchange, Reader::kCaller,
            {.method = request.method, .path = request.path, .query = request.query, .host = {}},
            AnswerPing);
}

}  // namespace sluice::api
