#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rules/glob.h"
#include "rules/literal_index.h"
#include "rules/model.h"

namespace sluice::rules {

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
  };
  std::vector<Entry> entries_;
  std::vector<Place> places_;
};

/// Which of many exact texts and globs a value matches, without looking at each. Made for lists of
/// 100 000. Immutable, so any thread may look; allocates nothing then.
class PatternTable {
 public:
  static constexpr std::uint32_t kNone = TextTable::kNone;

  PatternTable() = default;
  /// Patterns are known by their place in the list. Other kinds than exact and glob are left out.
  explicit PatternTable(std::span<const Pattern* const> patterns);

  /// An exact pattern if there is one, else the first glob that matches; or kNone.
  [[nodiscard]] std::uint32_t Find(std::string_view value) const;

 private:
  struct NumberedGlob {
    Glob glob;
    std::uint32_t number;
  };

  TextTable exact_;
  std::vector<NumberedGlob> globs_;    ///< In the order of the list.
  LiteralIndex literals_;              ///< Of globs, by their place in `globs_`.
  std::vector<std::uint32_t> others_;  ///< Globs with too little text to be indexed.
};

/// What a pattern that names an address stands for: the address as it is written in keys. Else its
/// own text.
[[nodiscard]] std::string CanonicalAddressText(std::string_view text);

}  // namespace sluice::rules
