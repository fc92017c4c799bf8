#include "own_rules.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "config_text/suggestion.h"
#include "envoy/domain_tables.h"
#include "rule_text.h"
#include "rules/reader.h"

namespace sluice::app {
namespace {

using envoy::Descriptor;
using envoy::DomainTables;
using envoy::IsWildcard;
using envoy::Node;

using Path = std::vector<const Descriptor*>;
using Keys = std::vector<std::string_view>;

// What our rules take for more than a name.
constexpr std::array<std::string_view, 4> kMeaningful = {"api_key", "endpoint", "ip", "method"};

bool IsExact(const Descriptor& descriptor) {
  return !descriptor.value.empty() && !IsWildcard(descriptor.value);
}

/// Less is looked at earlier: exact values, then wildcards in their order, then the key alone.
std::pair<int, std::uint32_t> RankOf(const Descriptor& descriptor) {
  if (IsExact(descriptor)) return {0, descriptor.id};
  return descriptor.value.empty() ? std::pair{2, descriptor.id} : std::pair{1, descriptor.id};
}

/// The limits of a domain whose descriptors have the same keys: one of them applies to a call.
struct Shape {
  Keys keys;
  std::vector<Path> paths;
};

class DomainWriter {
 public:
  DomainWriter(const DomainTables& tables, RuleTexts& texts,
               std::vector<config_text::Diagnostic>& remarks)
      : tables_(tables), texts_(texts), remarks_(remarks) {}

  void Write() {
    for (const Descriptor& descriptor : tables_.descriptors()) {
      children_[{descriptor.parent, descriptor.key}].push_back(&descriptor);
      all_keys_.insert(descriptor.key);
    }
    for (auto& [place, siblings] : children_) {
      std::sort(siblings.begin(), siblings.end(),
                [](const Descriptor* a, const Descriptor* b) { return RankOf(*a) < RankOf(*b); });
    }
    for (const Descriptor& descriptor : tables_.descriptors()) {
      if (descriptor.node != nullptr) Sort(PathTo(descriptor));
    }
    for (Shape& shape : shapes_) WriteShape(shape);
  }

 private:
  void Remark(const Descriptor& about, std::string text) {
    remarks_.push_back({.file = std::string(about.file),
                        .position = about.position,
                        .field = about.node != nullptr ? about.node->rule.id : about.key,
                        .message = std::move(text)});
  }

  Path PathTo(const Descriptor& last) const {
    Path path{&last};
    while (path.back()->parent != DomainTables::kRoot) {
      path.push_back(&tables_.descriptors()[path.back()->parent - 1]);
    }
    std::reverse(path.begin(), path.end());
    return path;
  }

  void Sort(Path path) {
    Keys keys;
    for (const Descriptor* each : path) keys.push_back(each->key);
    std::set<std::string_view> as_set(keys.begin(), keys.end());
    if (as_set.size() < keys.size()) {
      Remark(*path.back(), "has a key twice, which a call's attributes can't; left out");
      return;
    }
    for (const std::string_view key : keys) {
      if (!CanBeCondition(key) || key == "domain") {
        Remark(*path.back(), "has the key " + config_text::Shown(key) +
                                 ", which means something else in a rule; left out");
        return;
      }
    }
    const auto [found, is_new] = by_keys_.try_emplace(std::move(as_set), shapes_.size());
    if (is_new) shapes_.push_back({.keys = keys, .paths = {}});
    Shape& shape = shapes_[found->second];
    if (shape.keys != keys) {
      Remark(*path.back(),
             "has the keys of another descriptor in another order, which a call's "
             "attributes don't have; left out");
      return;
    }
    shape.paths.push_back(std::move(path));
  }

  void WriteShape(Shape& shape) {
    std::sort(shape.paths.begin(), shape.paths.end(), [](const Path& a, const Path& b) {
      return std::lexicographical_compare(
          a.begin(), a.end(), b.begin(), b.end(),
          [](const Descriptor* x, const Descriptor* y) { return RankOf(*x) < RankOf(*y); });
    });
    for (const std::string_view key : shape.keys) {
      if (std::find(kMeaningful.begin(), kMeaningful.end(), key) != kMeaningful.end()) {
        Remark(*shape.paths.front().back(), "has the key " + config_text::Shown(key) +
                                                ", which has a meaning of its own in rules");
      }
    }
    for (const Path& path : shape.paths) {
      for (std::size_t level = 0; level < path.size(); ++level) WriteGuards(shape, path, level);
      WriteLimit(shape, path, &path == &shape.paths.back());
    }
  }

  /// Whether some limit of `from` or below it applies to every call that has these keys besides.
  bool Covers(const Descriptor& from, std::span<const std::string_view> keys) const {
    if (keys.empty()) return from.node != nullptr;
    const auto below = children_.find({from.id, keys.front()});
    if (below == children_.end()) return false;
    const Descriptor& last = *below->second.back();
    return last.value.empty() && Covers(last, keys.subspan(1));
  }

  // Calls that a descriptor beside this one was chosen for, on that level, are not for this one,
  // even if that one has no limit for them in the end.
  void WriteGuards(const Shape& shape, const Path& path, std::size_t level) {
    const Descriptor& chosen = *path[level];
    if (IsExact(chosen)) return;
    const auto rest = std::span(shape.keys).subspan(level + 1);
    std::vector<std::string_view> exact;
    std::vector<std::string_view> wildcards;
    for (const Descriptor* other : children_.at({chosen.parent, chosen.key})) {
      if (other == &chosen) break;
      if (Covers(*other, rest)) continue;
      (IsExact(*other) ? exact : wildcards).push_back(other->value);
    }
    std::vector<ConditionText> conditions = ConditionsOf(shape, path);
    for (const auto& [values, form] :
         {std::pair{&exact, ConditionForm::kExact}, std::pair{&wildcards, ConditionForm::kGlob}}) {
      if (values->empty()) continue;
      conditions[level + 1] = {.attribute = chosen.key, .form = form, .values = *values};
      texts_.AddPass(*path.back(), conditions);
    }
  }

  void WriteLimit(const Shape& shape, const Path& path, bool is_last) {
    const Descriptor& descriptor = *path.back();
    const Node& node = *descriptor.node;
    if (node.unlimited) {
      if (!is_last) texts_.AddPass(descriptor, ConditionsOf(shape, path));
      return;
    }
    texts_.AddLimit(descriptor, ConditionsOf(shape, path));
    for (const auto& [is_so, name] :
         {std::pair{node.quota_mode, "quota_mode"}, std::pair{node.count_denied, "count_denied"},
          std::pair{!node.replaces.empty(), "replaces"},
          std::pair{!node.metadata.empty(), "metadata"}}) {
      if (is_so)
        Remark(descriptor, std::string("`") + name + "` is left out: rules have no equivalent");
    }
  }

  /// The domain, the levels, and that there are no other keys.
  std::vector<ConditionText> ConditionsOf(const Shape& shape, const Path& path) const {
    std::vector<ConditionText> conditions{
        {.attribute = "domain", .form = ConditionForm::kExact, .values = {tables_.name()}}};
    for (const Descriptor* each : path) {
      ConditionText& condition = conditions.emplace_back();
      condition.attribute = each->key;
      condition.form = each->value.empty() ? ConditionForm::kPresent
                       : IsExact(*each)    ? ConditionForm::kExact
                                           : ConditionForm::kGlob;
      if (!each->value.empty()) condition.values = {each->value};
    }
    for (const std::string_view key : all_keys_) {
      if (std::find(shape.keys.begin(), shape.keys.end(), key) != shape.keys.end()) continue;
      if (!CanBeCondition(key)) continue;
      conditions.push_back({.attribute = key, .form = ConditionForm::kAbsent, .values = {}});
    }
    return conditions;
  }

  const DomainTables& tables_;
  RuleTexts& texts_;
  std::vector<config_text::Diagnostic>& remarks_;
  std::map<std::pair<std::uint32_t, std::string_view>, std::vector<const Descriptor*>> children_;
  std::set<std::string_view> all_keys_;
  std::map<std::set<std::string_view>, std::size_t> by_keys_;
  std::vector<Shape> shapes_;
};

}  // namespace

OwnRules WriteOwnRules(const envoy::Config& config) {
  OwnRules own;
  RuleTexts texts;
  for (const auto& domain : config.domains()) {
    DomainWriter(domain->tables(), texts, own.remarks).Write();
  }
  // Our rules are read more strictly: one that can never match is an error.
  while (true) {
    own.yaml = texts.Join();
    const rules::ReadResult read = rules::Read("rules", own.yaml);
    if (read.file || !texts.DropThoseWith(read.errors, own.remarks)) return own;
  }
}

}  // namespace sluice::app
