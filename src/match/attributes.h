#pragma once

#include <span>

#include <sluice/rules.h>

namespace sluice::match {

using sluice::Attribute;

/// The attributes of a call. If a name occurs twice, the first counts.
using Attributes = std::span<const Attribute>;

}  // namespace sluice::match
