#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "api/denial_id.h"
#include "base/json_writer.h"
#include "base/live.h"
#include "identity/identifier.h"
#include "identity/principal.h"
#include "match/rule_set.h"
#include "telemetry/decision_record.h"

namespace sluice::api {

/// Which decisions a viewer wants; empty: all.
struct DenialFilter {
  std::string rule{};
  std::string key{};  ///< The key of the limit, or the call's `api_key`.

  [[nodiscard]] bool Matches(const telemetry::DecisionRecord& record) const;
};

/// Returns a key as people read it: "<tag>", or "<tag>:<rest>" with a rest.
[[nodiscard]] std::string KeyTextOf(const telemetry::DecisionRecord& record);

/// Returns the name of a version: "1.17" of a store's, a number of this process otherwise.
[[nodiscard]] std::string VersionText(const LiveVersion<match::RuleSet>& version);

/// Writes decisions and ids of denials as JSON. For one thread at a time.
class DenialWriter {
 public:
  /// `secret`: of the ids; empty: denials have none. `rules` must outlive it.
  DenialWriter(std::string node, std::string_view secret, const Live<match::RuleSet>& rules);

  /// As a principal may see it. Appends one object.
  void Append(const telemetry::DecisionRecord& record, std::uint64_t sequence,
              const identity::Principal& principal, std::string& out);
  /// As it may be kept: keys are digests. Appends one line.
  void AppendForLog(const telemetry::DecisionRecord& record, const identity::Identifier& identifier,
                    std::string& out);
  /// The object that answers for an id. Nothing: this server can't read it.
  [[nodiscard]] std::optional<std::string> Explain(std::string_view id) const;

 private:
  struct VersionName {
    std::string text;
    std::uint32_t fingerprint = 0;
  };

  template <typename ShowKey>
  void AppendMembers(const telemetry::DecisionRecord& record, const ShowKey& show_key,
                     JsonWriter& json);
  const VersionName& NameOf(std::uint64_t rules);

  const std::string node_;
  const std::optional<DenialIds> ids_;
  const Live<match::RuleSet>& rules_;
  std::map<std::uint64_t, VersionName> versions_;  ///< The last few.
};

}  // namespace sluice::api
