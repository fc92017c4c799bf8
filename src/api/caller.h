#pragma once

#include <string>
#include <string_view>

#include "api/caller_answer.h"
#include "api/http_exchange.h"

namespace sluice::api {

/// The call that a request is about: the request itself, or what a proxy tells of one.
struct CallTarget {
  std::string_view method;
  std::string_view path;   ///< Not decoded.
  std::string_view query;  ///< The same.
  std::string_view host;   ///< May be empty.
};

/// Begins the call of a caller that is known by what its request brings, and by nothing that it
/// claims to be. Null: that can't be told, and the response is in `exchange.out`.
HttpCall* BeginCall(HttpExchange& exchange, Reader reader, const CallTarget& target,
                    void (*answer)(HttpCall& call, std::string& out));

}  // namespace sluice::api
