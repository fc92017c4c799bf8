#include "load_rules.h"

#include <cstdio>
#include <utility>

#include "rules/reader.h"

namespace sluice::app {

std::shared_ptr<const match::RuleSet> LoadRules(const std::string& path) {
  rules::ReadResult read = rules::ReadFile(path);
  for (const config_text::Diagnostic& error : read.errors) {
    std::fprintf(stderr, "%s\n", config_text::Describe(error).c_str());
  }
  return read.file ? match::RuleSet::Compile(std::move(*read.file)) : nullptr;
}

}  // namespace sluice::app
