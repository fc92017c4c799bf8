#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "config_text/diagnostic.h"
#include "config_text/field_path.h"
#include "config_text/yaml_tree.h"

namespace sluice::config_text {

/// A value and its position. Not set: absent.
struct Field {
  static constexpr std::size_t kNoItem = static_cast<std::size_t>(-1);

  const YamlNode* node = nullptr;
  const FieldPath* parent = nullptr;
  std::string_view name{};
  std::size_t index = kNoItem;  ///< Index of a list's item.
  Position key{};               ///< Position of the name.

  explicit operator bool() const { return node != nullptr; }
  const YamlNode* operator->() const { return node; }
};

/// The state of reading one file: collects errors and warnings and continues.
class Reading {
 public:
  explicit Reading(std::string file) : file_(std::move(file)) {}
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] const FieldPath* root() const { return &root_; }
  /// Returns the path of a field; lives as long as this.
  const FieldPath* PathOf(const Field& field);

  void AddError(const Field& field, std::string message);
  /// Reports an error about the field's name.
  void AddNameError(const Field& field, std::string message);
  void AddErrorAt(Position position, const FieldPath* path, std::string message);
  void AddWarning(const Field& field, std::string message);
  /// True if further errors are dropped and reading should stop.
  [[nodiscard]] bool has_max_errors() const;
  /// Number of errors so far, to detect new ones.
  [[nodiscard]] std::size_t errors() const { return errors_.size(); }
  /// Return all diagnostics in the order of the file, without duplicates.
  std::vector<Diagnostic> TakeErrors();
  std::vector<Diagnostic> TakeWarnings();

  /// Each returns a value, or reports an error and returns nothing.
  std::optional<std::string_view> Text(const Field& field, std::string_view expected);
  std::optional<bool> Flag(const Field& field);
  std::optional<std::int64_t> Whole(const Field& field, std::int64_t low, std::int64_t high);
  /// Returns the value of one of these words, ignoring case.
  template <typename T>
  std::optional<T> Choice(const Field& field,
                          std::span<const std::pair<std::string_view, T>> words);

  /// Returns the items of a list; another value is a list of one.
  std::vector<Field> Items(const Field& field);
  /// Returns the fields of a mapping with arbitrary names; reports duplicates.
  std::vector<Field> Entries(const Field& field, std::string_view expected);

  /// Regular expressions that were checked, to check each only once.
  std::unordered_set<std::string_view>& checked_regexes() { return checked_regexes_; }
  /// Total size of those.
  std::size_t& regex_size() { return regex_size_; }

 private:
  void ReportChoice(const Field& field, std::span<const std::string_view> words);
  Diagnostic About(const Field& field, Position position, std::string message) const;

  std::string file_;
  FieldPath root_;
  std::deque<FieldPath> paths_;
  std::vector<Diagnostic> errors_;
  std::vector<Diagnostic> warnings_;
  std::unordered_set<std::string_view> checked_regexes_;
  std::size_t regex_size_ = 0;
};

/// Describes a value for messages: "nothing", "a list", "fields", or the text itself.
std::string Found(const YamlNode& node);

template <typename T>
std::optional<T> Reading::Choice(const Field& field,
                                 std::span<const std::pair<std::string_view, T>> words) {
  if (field->kind == YamlKind::kScalar) {
    for (const auto& [word, value] : words) {
      if (EqualIgnoringCase(field->text, word)) return value;
    }
  }
  std::vector<std::string_view> names;
  for (const auto& [word, value] : words) names.push_back(word);
  ReportChoice(field, names);
  return std::nullopt;
}

}  // namespace sluice::config_text
