#include "import_envoy.h"

#include <cstdio>
#include <vector>

#include "envoy/own_rules.h"
#include "envoy/reader.h"
#include "rules/reader.h"
#include "rules/watched_path.h"

namespace sluice::app {
namespace {

// With '#' in front, so that it can stand in the rule file, too.
void PrintRemarks(const std::vector<rules::Mistake>& remarks) {
  for (const rules::Mistake& remark : remarks) {
    std::fprintf(stderr, "# %s\n", rules::Describe(remark).c_str());
  }
}

}  // namespace

int ImportEnvoy(const ImportEnvoyOptions& options) {
  const rules::FileChange found =
      rules::WatchedPath(options.directory, {".yaml", ".yml"}).Read(rules::kMaxFileBytes);
  if (!found.content) {
    std::fprintf(stderr, "%s: %s\n", found.path.c_str(), found.error.c_str());
    return 1;
  }
  if (found.files.empty()) {
    std::fprintf(stderr, "%s: has no file that ends in .yaml or .yml\n", found.path.c_str());
    return 1;
  }
  std::vector<envoy::SourceFile> files;
  for (const rules::FoundFile& file : found.files) {
    files.push_back({.name = file.path, .text = file.content});
  }
  const envoy::ReadResult read =
      envoy::Read(files, {.merge_domains = options.merge_domains, .prepare = {}});
  for (const rules::Mistake& mistake : read.mistakes) {
    std::fprintf(stderr, "%s\n", rules::Describe(mistake).c_str());
  }
  if (!read.config) return 1;
  PrintRemarks(read.warnings);
  const envoy::OwnRules own = envoy::WriteOwnRules(*read.config);
  PrintRemarks(own.remarks);
  std::fputs(own.yaml.c_str(), stdout);
  return 0;
}

}  // namespace sluice::app
