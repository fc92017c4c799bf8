#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "config_text/reading.h"

namespace sluice::config_text {

class FieldNames;

/// Returns a suffix for the message about an unknown field; may be empty.
using FieldHint = std::string (*)(const FieldNames& names, std::string_view field);

/// The allowed field names of a kind of mapping.
class FieldNames {
 public:
  static constexpr std::size_t kMost = 64;

  /// `what` is for messages ("a rule"); `document` describes all fields.
  FieldNames(std::string_view what, std::initializer_list<std::vector<std::string_view>> names,
             std::string_view document, FieldHint unknown_hint = nullptr);

  [[nodiscard]] std::string_view what() const { return what_; }
  [[nodiscard]] std::string_view document() const { return document_; }
  [[nodiscard]] FieldHint hint() const { return hint_; }
  [[nodiscard]] const std::vector<std::string_view>& all() const { return all_; }
  [[nodiscard]] bool Has(std::string_view name) const { return IndexOf(name) != kMost; }
  /// Returns the index of a name; kMost if unknown.
  [[nodiscard]] std::size_t IndexOf(std::string_view name) const;

 private:
  std::string_view what_;
  std::string_view document_;
  FieldHint hint_;
  std::vector<std::string_view> all_;
  std::unordered_map<std::string_view, std::size_t> index_;
};

/// A mapping with known field names; others are errors.
class Mapping {
 public:
  Mapping(Reading& reading, const Field& field, const FieldNames& names);

  /// Returns a field; not set if absent. `name` must be one of the names.
  [[nodiscard]] Field operator[](std::string_view name) const;
  /// Returns the field with either of two equivalent names; reports an error if both are present.
  [[nodiscard]] Field Either(std::string_view name, std::string_view other) const;

  [[nodiscard]] const FieldNames& names() const { return names_; }
  [[nodiscard]] const FieldPath* path() const { return path_; }
  [[nodiscard]] Reading& reading() const { return reading_; }
  /// False: not a mapping, which was reported.
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  void ReportUnknown(const Field& field);

  Reading& reading_;
  const FieldNames& names_;
  const FieldPath* path_;
  bool ok_ = true;
  std::array<const YamlNode*, FieldNames::kMost> values_{};
  std::array<Position, FieldNames::kMost> keys_{};
};

}  // namespace sluice::config_text
