#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "envoy/config.h"
#include "envoy/reader.h"

namespace sluice::envoy::testing {

/// The configuration in the text; the test fails if there is an error in it.
std::shared_ptr<const Config> ReadOk(std::string_view yaml);

/// All errors and warnings in the text, one on each line, without the name of the file.
std::string Complaints(std::string_view yaml);
std::string Complaints(std::initializer_list<FileContent> files, const ReadOptions& options = {});

/// The match of a request's descriptor, as text: "domain.key_value 10/60s {tag}:scope:rest";
/// "nothing" if there is no limit, "no domain" if there is no domain.
std::string Met(const Config& config, std::string_view domain, const std::vector<Entry>& entries);

}  // namespace sluice::envoy::testing
