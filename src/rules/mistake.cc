#include "rules/mistake.h"

namespace sluice::rules {

std::string Describe(const Mistake& mistake) {
  std::string text = mistake.file;
  if (mistake.position.line > 0) {
    text +=
        ':' + std::to_string(mistake.position.line) + ':' + std::to_string(mistake.position.column);
  }
  text += ": ";
  if (!mistake.field.empty()) text += mistake.field + ": ";
  return text + mistake.message;
}

}  // namespace sluice::rules
