#include "import_envoy.h"

#include <cstdio>
#include <vector>

#include "base/watched_files.h"
#include "envoy/reader.h"
#include "own_rules.h"
#include "rules/reader.h"

namespace sluice::app {
namespace {

// With '#' in front, so that it can stand in the rule file, too.
void PrintRemarks(const std::vector<config_text::Diagnostic>& remarks) {
  for (const config_text::Diagnostic& remark : remarks) {
    std::fprintf(stderr, "# %s\n", config_text::Describe(remark).c_str());
  }
}

}  // namespace

int ImportEnvoy(const ImportEnvoyOptions& options) {
  const FileChange found =
      WatchedFiles::InDirectory(options.directory, {".yaml", ".yml"}).Read(rules::kMaxFileBytes);
  if (!found.error.empty()) {
    std::fprintf(stderr, "%s: %s\n", found.path.c_str(), found.error.c_str());
    return 1;
  }
  if (found.files.empty()) {
    std::fprintf(stderr, "%s: has no file that ends in .yaml or .yml\n", options.directory.c_str());
    return 1;
  }
  const envoy::ReadResult read =
      envoy::Read(found.files, {.merge_domains = options.merge_domains, .prepare = {}});
  for (const config_text::Diagnostic& error : read.errors) {
    std::fprintf(stderr, "%s\n", config_text::Describe(error).c_str());
  }
  if (!read.config) return 1;
  PrintRemarks(read.warnings);
  const OwnRules own = WriteOwnRules(*read.config);
  PrintRemarks(own.remarks);
  std::fputs(own.yaml.c_str(), stdout);
  return 0;
}

}  // namespace sluice::app
