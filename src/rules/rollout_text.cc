#include "rules/rollout_text.h"

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/json_writer.h"
#include "rules/reader.h"

namespace sluice::rules {
namespace {

bool IsPlain(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' ||
         c == '/' || c == ' ';
}

// A scalar of a flow mapping. A string of JSON is one of YAML.
void AppendScalar(std::string_view text, std::string& out) {
  const bool plain = !text.empty() && text.front() != ' ' && text.back() != ' ' &&
                     std::all_of(text.begin(), text.end(), IsPlain) &&
                     !EqualIgnoringCase(text, "null");
  if (plain) {
    out += text;
  } else {
    out += '"';
    AppendJsonEscaped(text, out);
    out += '"';
  }
}

// Appends the numbers of one limit from levels at or above `weakest`.
void AppendNumbers(const NamedLimit& limit, Level weakest, AlgorithmText algorithm,
                   std::string& out) {
  const std::size_t begin = out.size();
  const bool writes_algorithm = algorithm == AlgorithmText::kWritten && !limit.reject_all;
  if (writes_algorithm) out.append("algorithm: ").append(AlgorithmName(limit.limit.algorithm()));
  for (const Setting& setting : limit.settings) {
    if (setting.level < weakest || (writes_algorithm && setting.quantity == "algorithm")) continue;
    const bool is_amount = setting.quantity == "limit" || setting.quantity == "capacity";
    if (limit.reject_all && (is_amount || setting.quantity == "refill_rate")) continue;
    if (out.size() > begin) out += ", ";
    out.append(setting.quantity).append(": ");
    AppendScalar(setting.value, out);
  }
  const bool rejects_by_itself =
      limit.reject_all &&
      std::any_of(limit.settings.begin(), limit.settings.end(), [&](const Setting& setting) {
        return setting.level >= weakest &&
               (setting.quantity == "limit" || setting.quantity == "capacity");
      });
  if (rejects_by_itself) out.append(out.size() > begin ? ", " : "").append("reject_all: true");
}

// The limits without a tier; if only tiers have numbers, those of one tier.
const Limits& UsualLimits(const LimitVariants& variants) {
  const bool by_tier = variants.usual.empty() && !variants.by_tier.empty();
  return by_tier ? variants.by_tier.begin()->second : variants.usual;
}

std::string NumbersText(const LimitVariants& variants, AlgorithmText algorithm) {
  const bool by_tier = !variants.by_tier.empty();
  // Numbers of tiers are not repeated. All others are, because the defaults may change together
  // with the rule.
  const Level weakest = by_tier ? Level::kRule : Level::kDefaults;
  const Limits& limits = UsualLimits(variants);
  std::string text = "{";
  if (limits.size() == 1) {
    AppendNumbers(limits.front(), weakest, algorithm, text);
    return text + "}";
  }
  text += "limits: {";
  bool any = false;
  for (const NamedLimit& limit : limits) {
    if (limit.is_absent || limit.shadow) continue;
    if (std::exchange(any, true)) text += ", ";
    AppendScalar(limit.name, text);
    text += ": {";
    AppendNumbers(limit, weakest, algorithm, text);
    text += "}";
  }
  return any ? text + "}}" : std::string();
}

// The offset of each line in the text; the first line has the number 1.
std::vector<std::size_t> LinesOf(std::string_view text) {
  // Columns don't count the byte order mark.
  std::vector<std::size_t> lines = {0, text.starts_with("\xEF\xBB\xBF") ? std::size_t{3} : 0};
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') lines.push_back(i + 1);
  }
  return lines;
}

// Inserts `from` as the first field of the mapping at a position. False if no mapping begins there.
class Inserter {
 public:
  explicit Inserter(std::string_view yaml) : yaml_(yaml), lines_(LinesOf(yaml)) {}

  bool Insert(config_text::Position position, const std::string& from) {
    const auto number = static_cast<std::size_t>(position.line);
    if (number == 0 || number >= lines_.size()) return false;
    const std::size_t line = lines_[number];
    const std::size_t offset = line + static_cast<std::size_t>(position.column) - 1;
    if (offset >= yaml_.size()) return false;
    const char first = yaml_[offset];
    if (first == '{') {
      insertions_.emplace_back(offset + 1, "from: " + from + ", ");
      return true;
    }
    // The name of the first field; not an anchor or a tag.
    if (first != '"' && first != '\'' && !(first >= 'a' && first <= 'z')) return false;
    insertions_.emplace_back(offset, "from: " + from + "\n" + std::string(offset - line, ' '));
    return true;
  }

  std::string Text() {
    std::sort(insertions_.begin(), insertions_.end());
    std::string text;
    std::size_t copied = 0;
    for (const auto& [offset, inserted] : insertions_) {
      text.append(yaml_.substr(copied, offset - copied)).append(inserted);
      copied = offset;
    }
    return text.append(yaml_.substr(copied));
  }

 private:
  std::string_view yaml_;
  std::vector<std::size_t> lines_;
  std::vector<std::pair<std::size_t, std::string>> insertions_;
};

bool ChangesAlgorithm(const Rule& before, const Rule& after) {
  for (const NamedLimit& limit : UsualLimits(after.variants)) {
    for (const NamedLimit& other : UsualLimits(before.variants)) {
      if (other.name == limit.name && other.limit.algorithm() != limit.limit.algorithm())
        return true;
    }
  }
  return false;
}

bool SharesRollout(const RuleFile& file, const Rule& rule) {
  return std::any_of(file.rules.begin(), file.rules.end(), [&](const Rule& other) {
    return &other != &rule && other.rollout && other.rollout->position == rule.rollout->position;
  });
}

}  // namespace

std::string PercentText(std::uint32_t share) {
  std::string text = std::to_string(share / 100);
  if (const std::uint32_t rest = share % 100; rest > 0) {
    text += (rest < 10 ? ".0" : ".") + std::to_string(rest % 10 == 0 ? rest / 10 : rest);
  }
  return text + " %";
}

std::optional<std::string> FromText(const Rule& previous, AlgorithmText algorithm) {
  if (!previous.enabled || previous.shadow) return std::nullopt;
  if (previous.rollout && !previous.rollout->has_from) return std::nullopt;
  const LimitVariants& variants = previous.rollout ? previous.rollout->from : previous.variants;
  const Limits& limits = variants.usual;
  if (limits.size() == 1 && limits.front().shadow) return std::nullopt;
  std::string text = NumbersText(variants, algorithm);
  if (text.empty()) return std::nullopt;
  return text;
}

FilledText FillInFrom(const RuleFile& previous, std::string_view yaml, WallTime now) {
  FilledText filled{.yaml = std::string(yaml), .not_filled = {}};
  const ReadResult read = Read("", yaml);
  if (!read.file) return filled;
  std::unordered_map<std::string_view, const Rule*> before;
  for (const Rule& rule : previous.rules) before.emplace(rule.id, &rule);
  Inserter inserter(yaml);
  for (const Rule& rule : read.file->rules) {
    if (!rule.rollout || rule.rollout->has_from) continue;
    const auto found = before.find(rule.id);
    if (found == before.end() || !found->second->schedule.Contains(now)) continue;
    const Rule& was = *found->second;
    const auto from = FromText(
        was, ChangesAlgorithm(was, rule) ? AlgorithmText::kWritten : AlgorithmText::kAsInFile);
    if (!from) continue;
    if (SharesRollout(*read.file, rule) || !inserter.Insert(rule.rollout->position, *from)) {
      filled.not_filled.push_back(rule.id);
    }
  }
  filled.yaml = inserter.Text();
  return filled;
}

}  // namespace sluice::rules
