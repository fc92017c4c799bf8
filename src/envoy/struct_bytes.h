#pragma once

#include <optional>
#include <string>

#include "config_text/reading.h"

namespace sluice::envoy {

/// A mapping of a file as a google.protobuf.Struct, encoded. Nothing if it is no mapping, or too
/// large to be sent with every answer, which is then an error.
std::optional<std::string> ReadStruct(config_text::Reading& reading,
                                      const config_text::Field& field);

}  // namespace sluice::envoy
