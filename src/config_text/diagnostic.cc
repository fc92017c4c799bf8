#include "config_text/diagnostic.h"

namespace sluice::config_text {

std::string Describe(const Diagnostic& error) {
  std::string text = error.file;
  if (error.position.line > 0) {
    text += ':' + std::to_string(error.position.line) + ':' + std::to_string(error.position.column);
  }
  text += ": ";
  if (!error.field.empty()) text += error.field + ": ";
  return text + error.message;
}

std::vector<std::string> DescribeAll(const std::vector<Diagnostic>& errors) {
  std::vector<std::string> lines;
  lines.reserve(errors.size());
  for (const Diagnostic& error : errors) lines.push_back(Describe(error));
  return lines;
}

}  // namespace sluice::config_text
