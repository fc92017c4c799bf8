#include "match/load_rules.h"

#include <utility>

#include "base/fingerprint.h"
#include "config_text/diagnostic.h"
#include "rules/reader.h"
#include "rules/schedule_reader.h"

namespace sluice::match {

LoadReport LoadRules(Live<RuleSet>& live, const std::string& name, std::string_view yaml,
                     WallTime now, const PrepareRules& prepare) {
  return live.Load(name, Fingerprint(yaml), now, [&]() -> LiveCandidate<RuleSet> {
    rules::ReadResult read = rules::Read(name, yaml);
    if (!read.file) return {.errors = DescribeAll(read.errors)};
    if (prepare) prepare(*read.file);
    std::vector<std::string> warnings = DescribeAll(read.warnings);
    for (std::string& expired : DescribeAll(rules::WarnOfExpired(*read.file, now))) {
      warnings.push_back(std::move(expired));
    }
    return {.value = RuleSet::Compile(std::move(*read.file)), .warnings = std::move(warnings)};
  });
}

LoadReport LoadRules(Live<RuleSet>& live, const FileChange& change, WallTime now,
                     const PrepareRules& prepare) {
  if (!change.error.empty()) return live.Refuse(change, now);
  const FileContent& file = change.files.front();
  return LoadRules(live, file.path, file.content, now, prepare);
}

}  // namespace sluice::match
