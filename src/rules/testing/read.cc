#include "rules/testing/read.h"

#include <gtest/gtest.h>

namespace sluice::rules::testing {

std::string Complaints(std::string_view yaml) {
  const ReadResult result = Read("f", yaml);
  std::string text;
  for (const config_text::Diagnostic& error : result.errors)
    text += Describe(error).substr(2) + "\n";
  for (const config_text::Diagnostic& warning : result.warnings) {
    text += "warning: " + Describe(warning).substr(2) + "\n";
  }
  return text;
}

RuleFile ReadOk(std::string_view yaml) {
  ReadResult result = Read("f", yaml);
  for (const config_text::Diagnostic& error : result.errors) ADD_FAILURE() << Describe(error);
  return result.file ? *std::move(result.file) : RuleFile();
}

std::string Words(const Limit& limit) {
  const LimitNumbers& numbers = limit.numbers();
  std::string words = AlgorithmName(numbers.algorithm);
  words += " " + std::to_string(numbers.cap);
  if (numbers.rate_num > 0) {
    words += ", " + std::to_string(numbers.rate_num) + "/" + std::to_string(numbers.rate_den) +
             " per " + std::to_string(numbers.interval.count()) + " µs";
  }
  if (numbers.window.count() > 0) words += ", " + std::to_string(numbers.window.count()) + " µs";
  return words;
}

}  // namespace sluice::rules::testing
