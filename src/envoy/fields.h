#pragma once

#include "rules/mapping.h"

/// The names of the fields of envoyproxy/ratelimit's files, and of those that are ours alone.
namespace sluice::envoy {

/// Of a file: a domain.
const rules::FieldNames& DomainFields();
const rules::FieldNames& DescriptorFields();
const rules::FieldNames& RateLimitFields();
const rules::FieldNames& ReplacesFields();

/// The original knows a field by its name, wherever it stands, and takes no notice of those that
/// stand where they mean nothing. So do we, but not silently.
void WarnOfMisplaced(const rules::Mapping& mapping);

}  // namespace sluice::envoy
