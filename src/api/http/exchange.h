#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "api/admin/admin_services.h"
#include "api/admin/audit_trail.h"
#include "api/http/call.h"
#include "api/http/loop.h"
#include "api/http/problem_response.h"
#include "api/server_services.h"
#include "wire/http_request.h"
#include "wire/http_response.h"

namespace sluice::api {

struct HttpRoute;

/// One request that a route handles. A route either answers it at once, or leaves a `call` with
/// checks to decide.
struct HttpExchange {
  HttpLoop& loop;
  const Peer& peer;
  const wire::HttpRequest& request;
  wire::HttpResponseOptions response_options;
  std::string& out;
  const HttpRoute* route = nullptr;  ///< Set while the route runs.
  /// The authenticated client. Null: the route needs none, and nothing was checked.
  identity::PrincipalPointer authenticated{};
  std::unique_ptr<HttpCall> call{};

  [[nodiscard]] ServerServices& services() const { return loop.services(); }
  [[nodiscard]] AdminServices& admin() const { return loop.services().admin(); }

  /// Returns the client and what it may do; without a role if it has not authenticated.
  [[nodiscard]] const identity::Principal& principal() const {
    return authenticated ? *authenticated : Anonymous();
  }
  /// Returns the author of a change that this request makes.
  [[nodiscard]] control::Origin Origin() const { return OriginOf(principal(), peer); }

  [[nodiscard]] wire::HttpResponse Respond(int status) const {
    return {out, status, loop.services().http_date(), response_options};
  }
  void Refuse(const Problem& problem) const {
    wire::HttpResponse response = Respond(KindOf(problem.code).status);
    FinishWithProblem(problem, response);
  }
  void RespondJson(int status, std::string_view json) const {
    Respond(status).Finish("application/json", json);
  }

  /// The call that this request makes: without checks yet.
  HttpCall& MakeCall(void (*answer)(HttpCall& call, std::string& out)) {
    call = loop.Take();
    call->response_options = response_options;
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
