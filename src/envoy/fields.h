#pragma once

#include "config_text/mapping.h"

/// The names of the fields of envoyproxy/ratelimit's files, and of those that are ours alone.
namespace sluice::envoy {

/// Of a file: a domain.
const config_text::FieldNames& DomainFields();
const config_text::FieldNames& DescriptorFields();
const config_text::FieldNames& RateLimitFields();
const config_text::FieldNames& ReplacesFields();

/// The original knows a field by its name, wherever it stands, and takes no notice of those that
/// stand where they mean nothing. So do we, but not silently.
void WarnOfMisplaced(const config_text::Mapping& mapping);

}  // namespace sluice::envoy
