#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rules/model.h"

namespace sluice::rules {

enum class ChangeEffect : std::uint8_t {
  kTightens,  ///< Fewer calls pass.
  kLoosens,   ///< More calls pass.
  kNew,
  kGone,
  kChanges,  ///< Neither tighter nor looser in all cases.
};

/// Returns "tightens", "loosens", "new", "gone" or "changes".
[[nodiscard]] std::string_view NameOf(ChangeEffect effect);

/// One changed field of a rule, or of the file.
struct DifferenceRow {
  std::string rule{};  ///< The rule's id; empty: a field of the file.
  std::string
      field{};         ///< Such as "limits.requests", "limits.requests[tier pro]", "match", "deny".
  std::string from{};  ///< The previous value, for display; empty: none.
  std::string to{};    ///< The new value; empty: none.
  ChangeEffect effect = ChangeEffect::kChanges;

  friend bool operator==(const DifferenceRow&, const DifferenceRow&) = default;
};

/// Compares two versions of the rules by rule and field. Rules are identified by their ids. Rows of
/// the file come first, then those of rules in the order of `after`, then those that are gone in
/// the order of `before`. Positions and numbers of metrics are not compared.
///
/// A limit tightens if it admits no more than before in any interval and less in some: for equal
/// algorithms, if capacity and rate are at most the previous ones and one of them is smaller. Where
/// one is larger and the other smaller, and between algorithms, it only changes.
[[nodiscard]] std::vector<DifferenceRow> Compare(const RuleFile& before, const RuleFile& after);

}  // namespace sluice::rules
