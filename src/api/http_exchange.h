#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "api/host.h"
#include "api/http_call.h"
#include "api/http_loop.h"
#include "api/problem_response.h"
#include "wire/http_request.h"
#include "wire/http_response.h"

namespace sluice::api {

/// One request while it is looked at. A route either answers it at once, or leaves a `call` with
/// questions to be asked.
struct HttpExchange {
  HttpLoop& loop;
  const Peer& peer;
  const wire::HttpRequest& request;
  wire::HttpAsked asked;
  std::string& out;
  std::unique_ptr<HttpCall> call{};

  [[nodiscard]] Host& host() const { return loop.host(); }

  [[nodiscard]] wire::HttpResponse Respond(int status) const {
    return {out, status, loop.host().http_date(), asked};
  }
  void Refuse(const Problem& problem) const {
    wire::HttpResponse response = Respond(KindOf(problem.code).status);
    FinishWithProblem(problem, response);
  }
  void RespondJson(int status, std::string_view json) const {
    Respond(status).Finish("application/json", json);
  }

  /// The call that this request makes: without questions yet.
  HttpCall& MakeCall(void (*answer)(HttpCall& call, std::string& out)) {
    call = loop.Take();
    call->asked = asked;
    call->answer = answer;
    constexpr std::size_t kLong = 16384;
    call->is_long = request.body.size() + request.query.size() > kLong;
    return *call;
  }
  /// Takes it back: there is something wrong with the request.
  void RefuseCall(const Problem& problem) {
    loop.GiveBack(std::move(call));
    Refuse(problem);
  }
};

}  // namespace sluice::api
