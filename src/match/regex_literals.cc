#include "match/regex_literals.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "base/ascii.h"
#include "rules/regex.h"

namespace sluice::match {
namespace {

constexpr std::size_t kMaxAlternatives = 64;
constexpr int kMaxDepth = 50;

using Alternatives = std::vector<Literal>;

enum class AtomKind : std::uint8_t { kByte, kAnyByte, kSomeByte, kGroup, kBegin, kEnd, kBoundary };

struct Atom {
  struct Sequence {
    std::vector<Atom> atoms;
  };

  AtomKind kind = AtomKind::kByte;
  char byte = 0;
  std::vector<Sequence> group = {};  // Its alternatives.
  bool may_be_missing = false;       // By '*', '?' or '{'.
  bool may_repeat = false;           // By '*', '+' or '{'.
  bool starred = false;              // By '*'.
};

using Concatenation = Atom::Sequence;

// Reads the part of RE2's syntax that people use for endpoints; `failed` on all else.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::optional<std::vector<Concatenation>> Parse() {
    auto alternatives = Alternation(0);
    if (failed_ || !text_.empty()) return std::nullopt;
    return alternatives;
  }

 private:
  std::vector<Concatenation> Alternation(int depth) {
    std::vector<Concatenation> alternatives(1);
    if (depth > kMaxDepth) failed_ = true;
    while (!failed_ && !text_.empty() && text_[0] != ')') {
      if (text_[0] == '|') {
        text_.remove_prefix(1);
        alternatives.emplace_back();
        continue;
      }
      Atom atom = TakeAtom(depth);
      TakeRepeats(atom);
      alternatives.back().atoms.push_back(std::move(atom));
    }
    return alternatives;
  }

  Atom TakeAtom(int depth) {
    const char c = text_[0];
    text_.remove_prefix(1);
    switch (c) {
      case '.':
        return {.kind = AtomKind::kAnyByte};
      case '^':
        return {.kind = AtomKind::kBegin};
      case '$':
        return {.kind = AtomKind::kEnd};
      case '[':
        SkipClass();
        return {.kind = AtomKind::kSomeByte};
      case '\\':
        return TakeEscape();
      case '(':
        return TakeGroup(depth);
      case '*':
      case '+':
      case '?':
      case '{':
        failed_ = true;
        return {};
      default:
        return {.kind = AtomKind::kByte, .byte = c};
    }
  }

  Atom TakeGroup(int depth) {
    if (text_.starts_with('?')) {
      if (text_.starts_with("?:")) {
        text_.remove_prefix(2);
      } else if (text_.starts_with("?P<") && text_.find('>') != std::string_view::npos) {
        text_.remove_prefix(text_.find('>') + 1);
      } else {
        failed_ = true;  // Flags, which change what letters mean.
      }
    }
    Atom atom{.kind = AtomKind::kGroup, .group = Alternation(depth + 1)};
    if (!text_.starts_with(')')) {
      failed_ = true;
      return atom;
    }
    text_.remove_prefix(1);
    return atom;
  }

  Atom TakeEscape() {
    if (text_.empty()) {
      failed_ = true;
      return {};
    }
    const char c = text_[0];
    text_.remove_prefix(1);
    if (!IsLetter(c) && !IsDigit(c)) return {.kind = AtomKind::kByte, .byte = c};
    switch (c) {
      case 'd':
      case 'D':
      case 's':
      case 'S':
      case 'w':
      case 'W':
        return {.kind = AtomKind::kSomeByte};
      case 'b':
      case 'B':
        return {.kind = AtomKind::kBoundary};
      case 'A':
        return {.kind = AtomKind::kBegin};
      case 'z':
        return {.kind = AtomKind::kEnd};
      default:
        failed_ = true;
        return {};
    }
  }

  void SkipClass() {
    if (text_.starts_with('^')) text_.remove_prefix(1);
    if (text_.starts_with(']')) text_.remove_prefix(1);  // In first place it is itself.
    while (!text_.empty() && text_[0] != ']') {
      if (text_.starts_with("[:")) {
        const std::size_t end = text_.find(":]");
        if (end == std::string_view::npos) break;
        text_.remove_prefix(end + 2);
      } else {
        text_.remove_prefix(text_[0] == '\\' && text_.size() > 1 ? 2 : 1);
      }
    }
    if (text_.empty()) {
      failed_ = true;
      return;
    }
    text_.remove_prefix(1);
  }

  void TakeRepeats(Atom& atom) {
    while (!text_.empty()) {
      const char c = text_[0];
      if (c == '{') {
        // Not a number of times: RE2 takes the brace as it is.
        const std::size_t end = text_.find('}');
        if (end == std::string_view::npos || end == 1 || text_[1] < '0' || text_[1] > '9' ||
            text_.substr(1, end - 1).find_first_not_of("0123456789,") != std::string_view::npos) {
          failed_ = true;
          return;
        }
        text_.remove_prefix(end + 1);
      } else if (c == '*' || c == '+' || c == '?') {
        text_.remove_prefix(1);
      } else {
        return;
      }
      atom.may_be_missing |= c != '+';
      atom.may_repeat |= c != '?';
      atom.starred = c == '*';
      if (text_.starts_with('?')) text_.remove_prefix(1);  // Lazy, which finds the same.
    }
  }

  std::string_view text_;
  bool failed_ = false;
};

// What an expression consists of, as far as it is text.
class Collector {
 public:
  // Lists of literals of which each match has one.
  static std::vector<Alternatives> Of(const Concatenation& concatenation) {
    Collector collector;
    for (const Atom& atom : concatenation.atoms) collector.Take(atom);
    collector.EndRun();
    return std::move(collector.found_);
  }

  // One list of literals for several alternatives, or an empty one: the best of each together.
  static Alternatives OfAny(const std::vector<Concatenation>& alternatives) {
    Alternatives together;
    for (const Concatenation& alternative : alternatives) {
      std::vector<Alternatives> lists = Of(alternative);
      if (lists.empty()) return {};
      Alternatives& best =
          *std::max_element(lists.begin(), lists.end(),
                            [](const auto& a, const auto& b) { return Shortest(a) < Shortest(b); });
      if (together.size() + best.size() > kMaxAlternatives) return {};
      std::move(best.begin(), best.end(), std::back_inserter(together));
    }
    return together;
  }

 private:
  static std::size_t Shortest(const Alternatives& literals) {
    std::size_t shortest = literals.front().text.size();
    for (const Literal& literal : literals) shortest = std::min(shortest, literal.text.size());
    return shortest;
  }

  void Take(const Atom& atom) {
    if (atom.may_be_missing) {
      EndRun();
      return;
    }
    switch (atom.kind) {
      case AtomKind::kByte:
        run_.text.push_back(atom.byte);
        if (atom.may_repeat) EndRun();
        return;
      case AtomKind::kBegin:
        EndRun();
        run_.at_begin = true;
        return;
      case AtomKind::kEnd:
        run_.at_end = true;
        EndRun();
        return;
      case AtomKind::kGroup: {
        EndRun();
        Alternatives group = OfAny(atom.group);
        if (!group.empty()) found_.push_back(std::move(group));
        return;
      }
      case AtomKind::kAnyByte:
      case AtomKind::kSomeByte:
      case AtomKind::kBoundary:
        EndRun();
        return;
    }
  }

  void EndRun() {
    if (!run_.text.empty()) found_.push_back({std::move(run_)});
    run_ = {};
  }

  Literal run_;
  std::vector<Alternatives> found_;
};

bool IsAnything(const Atom& atom) { return atom.kind == AtomKind::kAnyByte && atom.starred; }

// ^? .* text .* $? with any part left out.
void RecognisePlain(const std::vector<Atom>& atoms, RegexShape& shape) {
  auto at = atoms.begin();
  Literal literal;
  const auto take = [&](const auto& wanted) {
    const bool there = at != atoms.end() && wanted(*at);
    if (there) ++at;
    return there;
  };
  const auto is_bare = [](AtomKind kind) {
    return [kind](const Atom& atom) {
      return atom.kind == kind && !atom.may_be_missing && !atom.may_repeat;
    };
  };
  literal.at_begin = take(is_bare(AtomKind::kBegin));
  while (take(IsAnything)) literal.at_begin = false;
  while (at != atoms.end() && is_bare(AtomKind::kByte)(*at)) literal.text += (at++)->byte;
  bool anything = false;
  while (take(IsAnything)) anything = true;
  literal.at_end = take(is_bare(AtomKind::kEnd)) && !anything;
  if (at != atoms.end()) return;
  if (!literal.text.empty()) {
    shape.just = std::move(literal);
  } else if (!literal.at_begin || !literal.at_end) {
    shape.matches_all = true;
  }
}

}  // namespace

RegexShape ShapeOf(std::string_view regex) {
  RegexShape shape;
  if (!rules::ReadsBytes(regex)) return shape;
  // At the beginning it applies to the whole expression. Bytes are Latin-1 then, where the ASCII
  // letters have no other case than their own.
  constexpr std::string_view kIgnoreCase = "(?i)";
  const bool ignore_case = regex.starts_with(kIgnoreCase);
  if (ignore_case) regex.remove_prefix(kIgnoreCase.size());
  const auto alternatives = Parser(regex).Parse();
  if (!alternatives) return shape;
  if (alternatives->size() > 1) {
    Alternatives any = Collector::OfAny(*alternatives);
    if (!any.empty()) shape.one_of_each.push_back(std::move(any));
  } else {
    shape.one_of_each = Collector::Of(alternatives->front());
    RecognisePlain(alternatives->front().atoms, shape);
  }
  if (!ignore_case) return shape;
  shape.just.reset();
  for (Alternatives& literals : shape.one_of_each) {
    for (Literal& literal : literals) literal.ignore_case = true;
  }
  return shape;
}

}  // namespace sluice::match
