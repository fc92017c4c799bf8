#pragma once

#include <string>
#include <string_view>

#include "api/http/caller_answer.h"
#include "api/http/exchange.h"

namespace sluice::api {

/// The call that a request is about: the request itself, or the one that a proxy describes.
struct CallTarget {
  std::string_view method;  ///< May be empty, as may be the others.
  std::string_view path;    ///< Not decoded.
  std::string_view query;   ///< The same.
  std::string_view host;
};

/// Begins the call of a caller that is known by what its request brings, and by nothing that it
/// claims to be. Null if the caller can't be identified: the response is in `exchange.out`.
HttpCall* BeginCall(HttpExchange& exchange, Reader reader, const CallTarget& target,
                    void (*answer)(HttpCall& call, std::string& out));

}  // namespace sluice::api
