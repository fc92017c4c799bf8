#pragma once

#include <string>
#include <vector>

#include "base/json_writer.h"
#include "control/audit.h"
#include "control/change.h"
#include "control/propagation.h"
#include "control/rule_service.h"
#include "control/version.h"

/// JSON of the rule service. Field names are part of the interface: docs/control-plane.md. Of
/// errors and warnings the first 1000 are written, of a difference the first 10 000 rows.
namespace sluice::api {

/// Appends the result of a change that succeeded, or of a dry run, as an object.
void AppendChangeResult(const control::ChangeResult& result, JsonWriter& json);

/// Appends the members of a failed change that a problem body has in addition: `current`, `errors`,
/// `difference`, `impact`; each only if there is something to say. Inside an object.
void AppendChangeProblem(const control::ChangeResult& result, JsonWriter& json);

/// Appends `impact` or the reason why there is none. Inside an object.
void AppendImpact(const control::ChangeImpact& impact, JsonWriter& json);
/// Appends `applied`, `of` and `lagging`. Inside an object.
void AppendPropagation(const control::Propagation& propagation, JsonWriter& json);

/// Appends {"versions": […]}, the newest first.
void AppendVersions(const std::vector<control::VersionInfo>& versions, JsonWriter& json);
/// Appends a version with its text.
void AppendVersion(const control::Version& version, JsonWriter& json);
/// Appends {"from": …, "to": …, "rows": […]}.
void AppendDifference(const control::VersionDifference& difference, JsonWriter& json);

/// Appends {"current": …, "nodes": […]}.
void AppendNodes(const control::NodeList& nodes, JsonWriter& json);

/// Appends a record as an object.
void AppendAuditRecord(const control::AuditRecord& record, JsonWriter& json);

}  // namespace sluice::api
