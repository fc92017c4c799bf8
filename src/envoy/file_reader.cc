#include "envoy/file_reader.h"

#include <utility>

#include "base/duration.h"
#include "base/key.h"
#include "config_text/suggestion.h"
#include "envoy/fields.h"
#include "envoy/struct_bytes.h"
#include "rules/rule_reader.h"

namespace sluice::envoy {
namespace {

using config_text::Field;
using config_text::Mapping;
using config_text::YamlKind;

// Aliases can make many of few.
constexpr std::size_t kMostDescriptors = 1'000'000;
// Beside the values of a request there must be room for it in a key.
constexpr std::size_t kMostScopeBytes = kMaxKeyBytes / 2;

bool IsNothing(const Field& field) { return !field || field->kind == YamlKind::kNull; }

rules::NamedLimit NamedLimitOf(const RateLimit& rate_limit) {
  rules::NamedLimit limit{
      .name = rate_limit.unlimited ? std::string("unlimited") : DurationName(rate_limit.window),
      .type = "requests",
      .limit = rate_limit.limit,
      .cost = {},
      .settings = {}};
  limit.reject_all = !rate_limit.unlimited && rate_limit.requests_per_unit == 0;
  limit.window = rate_limit.window;
  return limit;
}

}  // namespace

FileReader::FileReader(config_text::Reading& reading, const Field& root)
    : reading_(reading), mapping_(reading, root, DomainFields()) {}

Field FileReader::ReadDomain() {
  if (!mapping_.ok()) return {};
  WarnOfMisplaced(mapping_);
  ReadDefaults();
  const Field domain = mapping_["domain"];
  if (!domain) {
    reading_.AddErrorAt({.line = 1, .column = 1}, reading_.root(), "needs a `domain`");
    return {};
  }
  return reading_.Text(domain, "the name of a domain") ? domain : Field{};
}

void FileReader::ReadDefaults() {
  if (const Field field = mapping_["algorithm"]) {
    defaults_.algorithm = ReadAlgorithm(reading_, field).value_or(defaults_.algorithm);
  }
  if (const Field field = mapping_["consistency"]) {
    defaults_.consistency = rules::ReadConsistency(reading_, field).value_or(defaults_.consistency);
  }
  if (const Field field = mapping_["on_store_failure"]) {
    defaults_.on_store_failure =
        rules::ReadOnStoreFailure(reading_, field).value_or(defaults_.on_store_failure);
  }
  if (const Field field = mapping_["when_full"]) {
    defaults_.when_full = rules::ReadWhenFull(reading_, field).value_or(defaults_.when_full);
  }
  defaults_.count_denied = Flag(mapping_, "count_denied");
}

void FileReader::ReadDescriptors(DomainTables& tables, std::vector<Node*>& nodes) {
  tables_ = &tables;
  nodes_ = &nodes;
  file_ = tables.AddFile(reading_.file());
  ParentLevel top;
  top.rule_id = tables.name();
  AppendPercentEncoded(tables.name(), top.scope);
  ReadList(mapping_["descriptors"], top);
}

void FileReader::ReadList(const Field& list, const ParentLevel& above) {
  if (IsNothing(list)) return;
  if (list->kind != YamlKind::kSequence) {
    reading_.AddError(list, "expected a list of descriptors, found " + Found(*list.node));
    return;
  }
  for (const Field& item : reading_.Items(list)) {
    if (tables_->descriptors().size() == kMostDescriptors) {
      reading_.AddError(item, "is one descriptor too many: a domain has at most " +
                                  std::to_string(kMostDescriptors));
      return;
    }
    ReadDescriptor(item, above);
  }
}

void FileReader::ReadDescriptor(const Field& item, const ParentLevel& above) {
  const Mapping mapping(reading_, item, DescriptorFields());
  if (!mapping.ok()) return;
  WarnOfMisplaced(mapping);
  const std::string key = TextOf(mapping["key"], "the key of an entry");
  const std::string value = TextOf(mapping["value"], "a value");
  const bool shares = Flag(mapping, "share_threshold");
  if (shares && !IsWildcard(value)) {
    reading_.AddError(
        mapping["share_threshold"],
        "is for values with a `*`: others have one counter anyway, and keys without a "
        "value one for each");
  }
  if (key.empty()) {
    const Field field = mapping["key"];
    const bool is_reported = !IsNothing(field) && field->kind != YamlKind::kScalar;
    if (!is_reported) reading_.AddError(item, "needs a `key`");
    return;
  }
  Descriptor* descriptor = AddDescriptor(item, above, key, value);
  if (descriptor == nullptr) return;
  descriptor->counts_values = value.empty() || (IsWildcard(value) && !shares);
  const ParentLevel level = LevelBelow(*descriptor, above);
  ReadLimit(mapping, item, *descriptor, level);
  ReadList(mapping["descriptors"], level);
}

Descriptor* FileReader::AddDescriptor(const Field& item, const ParentLevel& above,
                                      const std::string& key, const std::string& value) {
  Descriptor* descriptor = tables_->Add(above.id, key, value);
  if (descriptor == nullptr) {
    const Descriptor& first = *tables_->FindExact(above.id, key, value);
    const std::string where = first.file == file_ ? "" : " of " + std::string(first.file);
    reading_.AddError(item, config_text::Shown(value.empty() ? key : key + "_" + value) +
                                " stands here twice; first on line " +
                                std::to_string(first.position.line) + where);
    return nullptr;
  }
  descriptor->file = file_;
  descriptor->position = item->position;
  return descriptor;
}

FileReader::ParentLevel FileReader::LevelBelow(const Descriptor& descriptor,
                                               const ParentLevel& above) {
  ParentLevel level = above;
  level.id = descriptor.id;
  level.rule_id += '.' + descriptor.key;
  level.scope += '/';
  AppendPercentEncoded(descriptor.key, level.scope);
  if (!descriptor.value.empty()) {
    level.rule_id += '_' + descriptor.value;
    level.scope += '=';
    AppendPercentEncoded(descriptor.value, level.scope);
  }
  if (descriptor.counts_values) level.counted_by.push_back(descriptor.key);
  return level;
}

void FileReader::ReadLimit(const Mapping& mapping, const Field& item, Descriptor& descriptor,
                           const ParentLevel& level) {
  Node node;
  node.rule.shadow = Flag(mapping, "shadow_mode");
  node.quota_mode = Flag(mapping, "quota_mode");
  for (const std::string_view name : {"detailed_metric", "value_to_metric"}) Flag(mapping, name);
  if (const Field metadata = mapping["metadata"]) {
    node.metadata = ReadStruct(reading_, metadata).value_or("");
  }
  ReadBeyond(mapping, node);
  const Field field = mapping["rate_limit"];
  if (IsNothing(field)) return;
  auto rate_limit = ReadRateLimit(reading_, field, defaults_.algorithm);
  if (!rate_limit) return;
  const bool counts_in_windows =
      !rate_limit->unlimited && (rate_limit->requests_per_unit == 0 ||
                                 rate_limit->limit.algorithm() == Algorithm::kFixedWindow);
  if (!counts_in_windows) {
    if (node.count_denied && mapping["count_denied"]) {
      reading_.AddNameError(mapping["count_denied"], "is for fixed windows only");
    }
    node.count_denied = false;
  }
  node.rule.id = level.rule_id;
  node.rule.position = item->position;
  node.rule.per = level.counted_by;
  node.rule.variants.usual.push_back(NamedLimitOf(*rate_limit));
  node.requests_per_unit = rate_limit->requests_per_unit;
  node.unit = rate_limit->unit;
  node.name = std::move(rate_limit->name);
  node.unlimited = rate_limit->unlimited;
  node.replaces = std::move(rate_limit->replaces);
  node.file = file_;
  node.scope = level.scope + ':' + node.limit().name;
  if (node.scope.size() > kMostScopeBytes) {
    reading_.AddError(item, "its keys and values, with those above it, are longer than " +
                                std::to_string(kMostScopeBytes) + " bytes");
    return;
  }
  Node& kept = tables_->AddNode() = std::move(node);
  descriptor.node = &kept;
  nodes_->push_back(&kept);
}

void FileReader::ReadBeyond(const Mapping& mapping, Node& node) {
  node.rule.consistency = defaults_.consistency;
  node.rule.on_store_failure = defaults_.on_store_failure;
  node.rule.when_full = defaults_.when_full;
  node.count_denied = defaults_.count_denied;
  if (const Field field = mapping["consistency"]) {
    node.rule.consistency = rules::ReadConsistency(reading_, field).value_or(defaults_.consistency);
  }
  if (const Field field = mapping["on_store_failure"]) {
    node.rule.on_store_failure =
        rules::ReadOnStoreFailure(reading_, field).value_or(defaults_.on_store_failure);
  }
  if (const Field field = mapping["when_full"]) {
    node.rule.when_full = rules::ReadWhenFull(reading_, field).value_or(defaults_.when_full);
  }
  if (mapping["count_denied"]) node.count_denied = Flag(mapping, "count_denied");
}

bool FileReader::Flag(const Mapping& mapping, std::string_view name) {
  const Field field = mapping[name];
  return !IsNothing(field) && reading_.Flag(field).value_or(false);
}

std::string FileReader::TextOf(const Field& field, std::string_view expected) {
  if (IsNothing(field) || (field->kind == YamlKind::kScalar && field->text.empty())) return {};
  return std::string(reading_.Text(field, expected).value_or(""));
}

}  // namespace sluice::envoy
