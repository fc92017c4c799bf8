#pragma once

#include <string_view>

namespace sluice::api {

/// openapi.json: what can be asked over HTTP, for machines.
extern const std::string_view kOpenApi;

}  // namespace sluice::api
