#include "match/entry.h"

#include <algorithm>

namespace sluice::match {

using rules::PatternKind;

EntryKind KindOf(const Entry& entry) {
  EntryKind kind = EntryKind::kExact;
  for (const EntryCondition& condition : entry.match) {
    if (condition.kind == PatternKind::kGlob) return EntryKind::kGlob;
    if (condition.kind == PatternKind::kCidr) kind = EntryKind::kCidr;
  }
  return kind;
}

bool FitsEveryCall(const Entry& entry) {
  return std::all_of(entry.match.begin(), entry.match.end(), [](const EntryCondition& condition) {
    if (condition.kind == PatternKind::kCidr) return condition.value.ends_with("/0");
    return condition.kind == PatternKind::kGlob &&
           condition.value.find_first_not_of("*?") == std::string::npos;
  });
}

bool Precedes(const Entry& a, const Entry& b) {
  if (a.match.size() != b.match.size()) return a.match.size() > b.match.size();
  const EntryKind kind_a = KindOf(a);
  const EntryKind kind_b = KindOf(b);
  if (kind_a != kind_b) return kind_a < kind_b;
  if (a.created != b.created) return a.created > b.created;
  return a.id < b.id;
}

}  // namespace sluice::match
