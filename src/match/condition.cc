#include "match/condition.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "match/regex_literals.h"

namespace sluice::match {
namespace {

// From so many texts on a table is faster than looking at each.
constexpr std::size_t kMany = 8;

bool IsText(const rules::Pattern& pattern) {
  return pattern.kind == rules::PatternKind::kExact || pattern.kind == rules::PatternKind::kGlob;
}

}  // namespace

std::string Lowered(std::string_view text) {
  std::string lowered(text);
  std::transform(lowered.begin(), lowered.end(), lowered.begin(), AsciiLower);
  return lowered;
}

bool EqualsLowered(std::string_view text, std::string_view lowered) {
  return text.size() == lowered.size() &&
         std::equal(text.begin(), text.end(), lowered.begin(),
                    [](char c, char small) { return AsciiLower(c) == small; });
}

CompiledPatterns::CompiledPatterns(const std::vector<rules::Pattern>& patterns, bool ignore_case,
                                   RegexPool& regexes)
    : ignore_case_(ignore_case) {
  std::vector<const rules::Pattern*> texts;
  std::vector<Network> networks;
  for (const rules::Pattern& pattern : patterns) {
    if (IsText(pattern)) texts.push_back(&pattern);
  }
  if (texts.size() >= kMany && !ignore_case) {
    many_ = std::make_unique<const PatternTable>(texts);
  }
  for (const rules::Pattern& pattern : patterns) {
    if (pattern.kind == rules::PatternKind::kCidr) {
      networks.push_back(ParseNetwork(pattern.text).value());
    } else if (!many_ || !IsText(pattern)) {
      Add(pattern, regexes);
    }
  }
  networks_ = NetworkTable(networks);
}

void CompiledPatterns::Add(const rules::Pattern& pattern, RegexPool& regexes) {
  switch (pattern.kind) {
    case rules::PatternKind::kExact:
      exact_.push_back(ignore_case_ ? Lowered(pattern.text) : pattern.text);
      return;
    case rules::PatternKind::kGlob:
      globs_.push_back(rules::Glob::Compile(pattern.text).value());
      return;
    case rules::PatternKind::kRegex: {
      const RegexShape shape = ShapeOf(pattern.text);
      if (shape.matches_all) {
        matches_all_ = true;
      } else if (shape.just) {
        literals_.push_back(*shape.just);
      } else {
        auto& shared = regexes[pattern.text];
        if (!shared)
          shared =
              std::make_shared<const rules::Regex>(rules::Regex::Compile(pattern.text).value());
        regexes_.push_back(shared);
      }
      return;
    }
    case rules::PatternKind::kCidr:
      return;
  }
}

int CompiledPatterns::effort() const {
  return static_cast<int>(4 * exact_.size() + 4 * globs_.size() + 8 * literals_.size() +
                          (many_ ? 10U : 0U) + (networks_.empty() ? 0U : 10U) +
                          100 * regexes_.size());
}

bool CompiledPatterns::MatchesText(std::string_view value) const {
  for (const std::string& text : exact_) {
    if (ignore_case_ ? EqualsLowered(value, text) : value == text) return true;
  }
  for (const rules::Glob& glob : globs_) {
    if (glob.Matches(value)) return true;
  }
  return many_ && many_->Find(value) != PatternTable::kNone;
}

bool CompiledPatterns::MatchesOther(std::string_view value,
                                    const std::optional<Address>& address) const {
  for (const Literal& literal : literals_) {
    if (literal.In(value)) return true;
  }
  if (address && networks_.Find(*address) != NetworkTable::kNone) return true;
  for (const auto& regex : regexes_) {
    if (regex->Matches(value)) return true;
  }
  return false;
}

CompiledCondition::CompiledCondition(const rules::Condition& condition, Slots& slots,
                                     RegexPool& regexes)
    : slot_(slots.Intern(condition.attribute)) {
  if (condition.presence != rules::Presence::kAny) {
    kind_ = condition.presence == rules::Presence::kPresent ? Kind::kPresent : Kind::kAbsent;
    return;
  }
  std::vector<rules::Pattern> patterns = condition.any_of;
  for (rules::Pattern& pattern : patterns) {
    // The call's address is seen in its one way to be written.
    if (slot_ == kIpSlot && pattern.kind == rules::PatternKind::kExact) {
      pattern.text = CanonicalAddressText(pattern.text);
    }
  }
  or_template_ = slot_ == kEndpointSlot;
  if (patterns.size() == 1 && !condition.ignore_case && HoldInPlace(patterns.front())) return;
  set_ = std::make_unique<const CompiledPatterns>(patterns, condition.ignore_case, regexes);
  effort_ = set_->effort() + 2;
  if (set_->matches_all()) kind_ = Kind::kPresent;
}

bool CompiledCondition::HoldInPlace(const rules::Pattern& pattern) {
  switch (pattern.kind) {
    case rules::PatternKind::kExact:
      literal_ = {pattern.text, true, true};
      break;
    case rules::PatternKind::kGlob: {
      const rules::Glob glob = rules::Glob::Compile(pattern.text).value();
      if (!glob.IsJustLiteral()) return false;
      const auto [text, at_begin, at_end] = glob.Literals().front();
      literal_ = {std::string(text), at_begin, at_end};
      break;
    }
    case rules::PatternKind::kRegex: {
      RegexShape shape = ShapeOf(pattern.text);
      if (!shape.just) return false;
      literal_ = *std::move(shape.just);
      or_template_ = false;
      break;
    }
    case rules::PatternKind::kCidr:
      if (slot_ != kIpSlot) return false;
      network_ = ParseNetwork(pattern.text).value();
      kind_ = Kind::kNetwork;
      effort_ = 1;
      return true;
  }
  kind_ = Kind::kLiteral;
  effort_ = literal_.at_begin || literal_.at_end ? 1 : 3;
  return true;
}

bool CompiledCondition::SetHolds(const MatchInput& call, std::string_view value) const {
  if (set_->MatchesText(value)) return true;
  if (or_template_ && !call.endpoint_template.empty() &&
      set_->MatchesText(call.endpoint_template)) {
    return true;
  }
  if (slot_ == kIpSlot) return set_->MatchesOther(value, call.address);
  return set_->MatchesOther(value, set_->has_networks() ? ParseAddress(value) : std::nullopt);
}

bool CompiledCondition::Holds(const MatchInput& call) const {
  const std::string_view value = call[slot_];
  if (value.empty()) return kind_ == Kind::kAbsent;
  switch (kind_) {
    case Kind::kPresent:
      return true;
    case Kind::kAbsent:
      return false;
    case Kind::kLiteral:
      return literal_.In(value) || (or_template_ && !call.endpoint_template.empty() &&
                                    literal_.In(call.endpoint_template));
    case Kind::kNetwork:
      return call.address && network_.Contains(*call.address);
    case Kind::kSet:
      return SetHolds(call, value);
  }
  return false;
}

}  // namespace sluice::match
