#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config_text/mapping.h"

namespace sluice::rules {

/// Reads the attributes of the budget: `per`, or `scope` with `attributes`. Nothing if absent.
/// Appends their fields to `fields`.
std::optional<std::vector<std::string>> ReadPer(const config_text::Mapping& rule,
                                                std::vector<config_text::Field>& fields);

/// Reads the attribute that determines the cluster node of keys, which must be one of `per`; may be
/// empty.
std::string ReadHashTag(const config_text::Mapping& rule,
                        const std::optional<std::vector<std::string>>& per);

}  // namespace sluice::rules
