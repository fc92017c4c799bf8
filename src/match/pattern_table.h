#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/flat_index.h"
#include "match/literal_index.h"
#include "rules/glob.h"
#include "rules/model.h"

namespace sluice::match {

/// Texts and the numbers that they stand for; of equal texts the first counts.
class TextTable {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  struct Entry {
    std::string text;
    std::uint32_t number = kNone;
  };

  TextTable() = default;
  explicit TextTable(std::vector<Entry> entries);

  [[nodiscard]] std::uint32_t Find(std::string_view text) const;

 private:
  struct Place {
    std::uint32_t hash = 0;
    std::uint32_t entry = kNone;
    [[nodiscard]] bool empty() const { return entry == kNone; }
  };
  std::vector<Entry> entries_;
  FlatIndex<Place> places_;
};

/// Which of many exact texts and globs a value matches, without looking at each. Made for lists of
/// 100 000. Immutable, so any thread may look; allocates nothing then.
class PatternTable {
 public:
  static constexpr std::uint32_t kNone = TextTable::kNone;

  PatternTable() = default;
  /// Patterns are known by their place in the list. Other kinds than exact and glob are left out.
  explicit PatternTable(std::span<const rules::Pattern* const> patterns);

  /// An exact pattern if there is one, else the first glob that matches; or kNone.
  [[nodiscard]] std::uint32_t Find(std::string_view value) const;

 private:
  struct NumberedGlob {
    rules::Glob glob;
    std::uint32_t number;
  };

  TextTable exact_;
  std::vector<NumberedGlob> globs_;    ///< In the order of the list.
  LiteralIndex literals_;              ///< Of globs, by their place in `globs_`.
  std::vector<std::uint32_t> others_;  ///< Globs with too little text to be indexed.
};

/// Returns the value of a pattern: an address in the form of keys. Otherwise its
/// own text.
[[nodiscard]] std::string CanonicalAddressText(std::string_view text);

}  // namespace sluice::match
