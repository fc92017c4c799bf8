#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <sluice/result.h>

namespace sluice::rules {

/// The reason why a document was not edited.
enum class EditFailure : std::uint8_t {
  kNone,
  kNotFound,     ///< The document has no such rule or tier.
  kInvalidItem,  ///< The new rule or tier is invalid: `line` and `column` are in its text.
  kNotEditable,  ///< The document is written in a way that can't be edited in place (aliases).
};

/// The outcome of an edit: a document, or the reason why there is none.
struct EditResult {
  std::string text{};    ///< The whole document, if `failure` is kNone.
  bool created = false;  ///< The rule or tier is new.
  EditFailure failure = EditFailure::kNone;
  std::string error{};  ///< For messages; empty without a failure.
  int line = 0;         ///< With kInvalidItem: in the item's text; 0: of the whole item.
  int column = 0;

  [[nodiscard]] bool ok() const { return failure == EditFailure::kNone; }
};

/// The syntax of a text that a client sends.
enum class TextFormat : std::uint8_t { kYaml, kJson };

/// Edits one rule or tier in the text of a rule file. All other bytes of the document are
/// preserved: comments, formatting and line ends. The result is parsed again and must differ in
/// this item only; otherwise the edit fails.
///
/// A new rule is appended to `rules`. A rule's text may omit its id; an id other than `id` is
/// invalid. A replaced tier keeps its window if the new `limit` is a plain number without a window:
/// {"limit": 500} turns `100 per minute` into `500 per minute`.
[[nodiscard]] EditResult PutRule(std::string_view document, std::string_view id,
                                 std::string_view rule, TextFormat format);
[[nodiscard]] EditResult RemoveRule(std::string_view document, std::string_view id);
[[nodiscard]] EditResult PutTier(std::string_view document, std::string_view name,
                                 std::string_view tier, TextFormat format);
[[nodiscard]] EditResult RemoveTier(std::string_view document, std::string_view name);

}  // namespace sluice::rules
