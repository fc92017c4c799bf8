#pragma once

#include <span>
#include <string_view>

namespace sluice::rules {

/// One thing known of a call: "api_key" is "sk_prod_1". Any name, any bytes.
struct Attribute {
  std::string_view name;
  std::string_view value;
};

/// What is known of a call. If a name stands there twice, the first counts.
using Attributes = std::span<const Attribute>;

}  // namespace sluice::rules
