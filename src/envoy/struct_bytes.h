#pragma once

#include <optional>
#include <string>

#include "config_text/reading.h"

namespace sluice::envoy {

/// Reads a mapping as an encoded google.protobuf.Struct. Returns nothing, and reports an error, if
/// it is not a mapping, or too large for responses.
std::optional<std::string> ReadStruct(config_text::Reading& reading,
                                      const config_text::Field& field);

}  // namespace sluice::envoy
