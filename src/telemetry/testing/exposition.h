#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::telemetry::testing {

struct ParsedSample {
  std::string name;
  std::map<std::string, std::string> labels;
  std::string value;
};

struct ParsedFamily {
  std::string name;
  std::string type;
  std::string help;
  std::vector<ParsedSample> samples;
};

/// A page in the text format, read strictly.
struct Exposition {
  std::vector<ParsedFamily> families;
  /// Each with its line: what the format forbids, series that are there twice, families without
  /// samples, histograms whose buckets don't grow or don't agree with their count.
  std::vector<std::string> problems;

  [[nodiscard]] const ParsedFamily* Find(std::string_view family) const;
  /// The value of the series with exactly these labels; "" if there is none.
  [[nodiscard]] std::string Value(std::string_view name,
                                  const std::map<std::string, std::string>& labels) const;
};

[[nodiscard]] Exposition ParseExposition(std::string_view page);

}  // namespace sluice::telemetry::testing
