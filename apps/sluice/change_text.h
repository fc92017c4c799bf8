#pragma once

#include <string>

#include "base/json_reader.h"

/// JSON of the rule service, as text for people.
namespace sluice::app {

/// Appends the rows of `difference`, if `body` has any: one line for each changed field.
void AppendDifferenceText(const JsonValue& body, std::string& out);
/// Appends `impact`, if `body` has one, or the reason why there is none.
void AppendImpactText(const JsonValue& body, std::string& out);
/// Appends a table of `nodes`.
void AppendNodesText(const JsonValue& body, std::string& out);
/// Appends a table of `versions`.
void AppendVersionsText(const JsonValue& body, std::string& out);

}  // namespace sluice::app
