#pragma once

#include <span>

#include <sluice/rules.h>

namespace sluice::rules {

using sluice::Attribute;

/// What is known of a call. If a name stands there twice, the first counts.
using Attributes = std::span<const Attribute>;

}  // namespace sluice::rules
