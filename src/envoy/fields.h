#pragma once

#include "config_text/mapping.h"

/// The names of the fields of envoyproxy/ratelimit's files, and of our extensions.
namespace sluice::envoy {

/// Of a file: a domain.
const config_text::FieldNames& DomainFields();
const config_text::FieldNames& DescriptorFields();
const config_text::FieldNames& RateLimitFields();
const config_text::FieldNames& ReplacesFields();

/// Warns of known fields in the wrong place, which the original ignores silently.
void WarnOfMisplaced(const config_text::Mapping& mapping);

}  // namespace sluice::envoy
