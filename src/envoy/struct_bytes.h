#pragma once

#include <optional>
#include <string>

#include "rules/reading.h"

namespace sluice::envoy {

/// A mapping of a file as a google.protobuf.Struct, encoded. Nothing if it is no mapping, or too
/// large to be sent with every answer, which is then told.
std::optional<std::string> ReadStruct(rules::Reading& reading, const rules::Field& field);

}  // namespace sluice::envoy
