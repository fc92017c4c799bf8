#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/admin/admin_services.h"
#include "api/check_call.h"
#include "api/server_services.h"
#include "wire/http_response.h"

namespace sluice::api {

class HttpLoop;

/// The call that one HTTP request makes.
struct HttpCall final : CheckCall {
  explicit HttpCall(HttpLoop& its_loop) : loop(its_loop) {}

  void Clear() override;
  void GiveBack() override;
  [[nodiscard]] bool is_large() const override { return is_long || CheckCall::is_large(); }

  HttpLoop& loop;
  wire::HttpResponseOptions response_options;
  /// Writes the response, once all checks are decided. If there is one check only, what its
  /// decision points to is still there.
  void (*answer)(HttpCall& call, std::string& out) = nullptr;

  bool wants_problem = false;       ///< The client prefers application/problem+json.
  std::int64_t amount = 0;          ///< Settlements, grants: how much; rollbacks: to which version.
  std::vector<std::string> labels;  ///< Descriptors: how the answer of each begins.
  bool is_long = false;
  /// Starts work of the server that is done elsewhere, before the call's checks if it has some. It
  /// runs `done` on this loop, in a later turn, and leaves its result for `answer`.
  std::function<void(std::function<void()> done)> work;
  std::shared_ptr<const void> result;
  MetricsFormat metrics_format = MetricsFormat::kPrometheus;
  std::shared_ptr<void> kept;  ///< Whatever else a route keeps until the answer.
};

[[nodiscard]] inline HttpCall& HttpCallOf(CheckCall::Part& part) {
  return static_cast<HttpCall&>(part.call);
}

}  // namespace sluice::api
