#include "rules/condition.h"

#include <algorithm>
#include <utility>

#include "rules/regex_literals.h"

namespace sluice::rules {
namespace {

// From so many texts on a table is faster than looking at each.
constexpr std::size_t kMany = 8;

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool IsText(const Pattern& pattern) {
  return pattern.kind == PatternKind::kExact || pattern.kind == PatternKind::kGlob;
}

}  // namespace

std::string Lowered(std::string_view text) {
  std::string lowered(text);
  std::transform(lowered.begin(), lowered.end(), lowered.begin(), Lower);
  return lowered;
}

bool EqualsLowered(std::string_view text, std::string_view lowered) {
  return text.size() == lowered.size() &&
         std::equal(text.begin(), text.end(), lowered.begin(),
                    [](char c, char small) { return Lower(c) == small; });
}

CompiledCondition::CompiledCondition(const Condition& condition, Slots& slots, RegexPool& regexes)
    : slot_(slots.Intern(condition.attribute)),
      presence_(condition.presence),
      ignore_case_(condition.ignore_case) {
  std::vector<Network> networks;
  std::vector<const Pattern*> texts;
  std::vector<Pattern> canonical;
  canonical.reserve(condition.any_of.size());
  for (const Pattern& pattern : condition.any_of) {
    canonical.push_back(pattern);
    if (slot_ == kIpSlot && pattern.kind == PatternKind::kExact) {
      canonical.back().text = CanonicalAddressText(pattern.text);
    }
    if (IsText(pattern)) texts.push_back(&canonical.back());
  }
  const bool many = texts.size() >= kMany && !ignore_case_;
  if (many) many_ = std::make_unique<const PatternTable>(texts);
  for (const Pattern& pattern : canonical) {
    if (pattern.kind == PatternKind::kCidr) {
      networks.push_back(ParseNetwork(pattern.text).value());
    } else if (!many || !IsText(pattern)) {
      AddPattern(pattern, regexes);
    }
  }
  networks_ = NetworkTable(networks);
  effort_ =
      static_cast<int>(exact_.size() + 4 * globs_.size() + 8 * literals_.size() +
                       (many_ ? 10U : 0U) + (networks.empty() ? 0U : 10U) + 100 * regexes_.size());
}

void CompiledCondition::AddPattern(const Pattern& pattern, RegexPool& regexes) {
  switch (pattern.kind) {
    case PatternKind::kExact:
      exact_.push_back(ignore_case_ ? Lowered(pattern.text) : pattern.text);
      return;
    case PatternKind::kGlob:
      globs_.push_back(Glob::Compile(pattern.text).value());
      return;
    case PatternKind::kRegex: {
      const RegexShape shape = ShapeOf(pattern.text);
      if (shape.matches_all) {
        matches_all_ = true;
      } else if (shape.just) {
        literals_.push_back(*shape.just);
      } else {
        auto& shared = regexes[pattern.text];
        if (!shared) shared = std::make_shared<const Regex>(Regex::Compile(pattern.text).value());
        regexes_.push_back(shared);
      }
      return;
    }
    case PatternKind::kCidr:
      return;
  }
}

bool CompiledCondition::TextMatches(std::string_view value) const {
  for (const std::string& text : exact_) {
    if (ignore_case_ ? EqualsLowered(value, text) : value == text) return true;
  }
  for (const Glob& glob : globs_) {
    if (glob.Matches(value)) return true;
  }
  return many_ && many_->Find(value) != PatternTable::kNone;
}

bool CompiledCondition::AddressMatches(const Call& call, std::string_view value) const {
  if (networks_.empty()) return false;
  const auto address = slot_ == kIpSlot ? call.address : ParseAddress(value);
  return address && networks_.Find(*address) != NetworkTable::kNone;
}

bool CompiledCondition::Holds(const Call& call) const {
  const std::string_view value = call[slot_];
  if (value.empty()) return presence_ == Presence::kAbsent;
  if (presence_ != Presence::kAny) return presence_ == Presence::kPresent;
  if (matches_all_ || TextMatches(value)) return true;
  if (slot_ == kEndpointSlot && !call.endpoint_template.empty() &&
      TextMatches(call.endpoint_template)) {
    return true;
  }
  for (const Literal& literal : literals_) {
    if (literal.In(value)) return true;
  }
  if (AddressMatches(call, value)) return true;
  for (const auto& regex : regexes_) {
    if (regex->Matches(value)) return true;
  }
  return false;
}

}  // namespace sluice::rules
