#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/result.h>

namespace sluice::telemetry {

/// Labels that every series carries, such as region="eu": checked once, when they are configured.
class ConstantLabels {
 public:
  /// None.
  ConstantLabels() = default;

  /// Fails with kInvalidOptions if a name is no label name, is there twice, or is one that the page
  /// uses itself; or if a value is not UTF-8 or too long.
  static Result<ConstantLabels> Create(
      std::span<const std::pair<std::string, std::string>> name_values);

  /// `region="eu",zone="b"`, escaped; empty if there are none.
  [[nodiscard]] std::string_view text() const { return text_; }

 private:
  std::string text_;
};

/// Appends `name="value"`, the value escaped. Bytes that are not UTF-8 become U+FFFD.
void AppendLabel(std::string_view name, std::string_view value, std::string& out);

}  // namespace sluice::telemetry
