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

/// A value and where it was found. Not set: there is none.
struct Field {
  static constexpr std::size_t kNoItem = static_cast<std::size_t>(-1);

  const YamlNode* node = nullptr;
  const FieldPath* parent = nullptr;
  std::string_view name{};
  std::size_t index = kNoItem;  ///< Of a list's item.
  Position key{};               ///< Where the name stands.

  explicit operator bool() const { return node != nullptr; }
  const YamlNode* operator->() const { return node; }
};

/// The reading of one file: collects what is wrong with it, and goes on.
class Reading {
 public:
  explicit Reading(std::string file) : file_(std::move(file)) {}
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] const FieldPath* root() const { return &root_; }
  /// Lives as long as this.
  const FieldPath* PathOf(const Field& field);

  void Wrong(const Field& field, std::string message);
  /// Like Wrong, but about the field's name.
  void WrongName(const Field& field, std::string message);
  void WrongAt(Position position, const FieldPath* path, std::string message);
  void Warn(const Field& field, std::string message);
  /// Whether further errors are dropped: there is no point in reading on.
  [[nodiscard]] bool has_max_errors() const;
  /// How many errors there are so far; for "went well".
  [[nodiscard]] std::size_t errors() const { return errors_.size(); }
  /// In the order of the file; none twice.
  std::vector<Diagnostic> TakeErrors();
  std::vector<Diagnostic> TakeWarnings();

  /// Each says what is wrong if the field has no such value.
  std::optional<std::string_view> Text(const Field& field, std::string_view expected);
  std::optional<bool> Flag(const Field& field);
  std::optional<std::int64_t> Whole(const Field& field, std::int64_t low, std::int64_t high);
  /// One of a few words, in any case.
  template <typename T>
  std::optional<T> Choice(const Field& field,
                          std::span<const std::pair<std::string_view, T>> words);

  /// The items of a list; one value is a list of one.
  std::vector<Field> Items(const Field& field);
  /// The fields of a mapping, whatever their names; none twice.
  std::vector<Field> Entries(const Field& field, std::string_view expected);

  /// A regular expression is checked once, however many rules have it.
  std::unordered_set<std::string_view>& checked_regexes() { return checked_regexes_; }
  /// The size of those together.
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

/// "nothing", "a list", "fields", or the text itself: what was found instead.
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
