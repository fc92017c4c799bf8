#include "load_rules.h"

#include <cstdio>
#include <utility>

#include "rules/reader.h"

namespace sluice::app {

std::shared_ptr<const rules::RuleSet> LoadRules(const std::string& path) {
  rules::ReadResult read = rules::ReadFile(path);
  for (const rules::Mistake& mistake : read.mistakes) {
    std::fprintf(stderr, "%s\n", rules::Describe(mistake).c_str());
  }
  return read.file ? rules::RuleSet::Compile(std::move(*read.file)) : nullptr;
}

}  // namespace sluice::app
