#pragma once

#include <string>
#include <string_view>

#include "rules/model.h"
#include "rules/reader.h"

namespace sluice::rules::testing {

/// The rules in the text; the test fails if there is an error in it.
RuleFile ReadOk(std::string_view yaml);

/// All errors and warnings in the text, one on each line, without the name of the file.
std::string Complaints(std::string_view yaml);

/// A limit in few words: "token_bucket 100, 167 in 100000000 µs".
std::string Words(const Limit& limit);

}  // namespace sluice::rules::testing
