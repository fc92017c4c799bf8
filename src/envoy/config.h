#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/key.h"
#include "envoy/unit.h"
#include "rules/model.h"

/// The configuration of Envoy's rate limit service, as envoyproxy/ratelimit has it: what a file
/// says, made ready to answer. docs/envoy.md has the language.
namespace sluice::envoy {

/// A part of a request's descriptor.
struct Entry {
  std::string_view key;
  std::string_view value;
};

/// A descriptor of a file that has a limit.
struct Node {
  /// With one limit, so that it is counted, leased and failed like that of any rule. Its id is the
  /// name of the original's statistics: the domain, and "key" or "key_value" of each level, with
  /// dots between. `shadow` is the file's `shadow_mode`.
  rules::Rule rule;

  std::uint32_t requests_per_unit = 0;  ///< Reported to the caller, as are the next two.
  Unit unit = Unit::kUnknown;
  std::string name;

  bool unlimited = false;  ///< Nothing is counted: the rule's limit means nothing.
  bool quota_mode = false;
  bool count_denied = false;          ///< A call that is denied counts as well, as in the original.
  std::vector<std::string> replaces;  ///< Names of limits that are not looked at beside this one.
  std::string metadata;  ///< A google.protobuf.Struct as bytes, for callers within the limit.

  std::string file;   ///< Where it was found; the line is the rule's.
  std::string scope;  ///< The first part of its keys; no other node has it, nor has any rule.

  [[nodiscard]] const rules::NamedLimit& limit() const { return rule.variants.usual.front(); }
};

/// The key of a counter. Made once and used for many requests: after the first few it allocates
/// nothing.
class FoundKey {
 public:
  /// Points into the configuration, the entries and this: good until one of them changes.
  [[nodiscard]] Key key() const { return {.scope = scope_, .tag = tag_, .rest = rest_}; }

 private:
  friend class Domain;

  void Clear();
  /// One of the values that the counter is by.
  void Add(std::string_view value);
  void Finish(std::string_view scope, std::string_view tag_of_all);

  std::string_view scope_;
  std::string_view tag_;
  std::string rest_;
  std::size_t values_ = 0;
};

class DomainTables;

/// The descriptors of one domain. Immutable, so any thread may ask.
class Domain {
 public:
  explicit Domain(std::unique_ptr<const DomainTables> tables);
  ~Domain();
  Domain(const Domain&) = delete;
  Domain& operator=(const Domain&) = delete;

  [[nodiscard]] std::string_view name() const;

  /// The limit of a request's descriptor, and whose counter it is; null: there is none, and the
  /// descriptor is allowed. Level by level: the exact value, else the first wildcard that matches,
  /// else the key alone. What was chosen on one level is not given up for another on the next.
  const Node* Find(std::span<const Entry> entries, FoundKey& key) const;

  [[nodiscard]] const DomainTables& tables() const { return *tables_; }

  /// The counter of a limit that a request brings itself, instead of one of ours.
  void KeyOf(std::span<const Entry> entries, FoundKey& key, Unit unit = Unit::kUnknown) const;

 private:
  std::unique_ptr<const DomainTables> tables_;
};

/// All domains. Immutable, shared by all threads.
class Config {
 public:
  /// `nodes` are those of the domains.
  Config(std::vector<std::unique_ptr<const Domain>> domains, std::vector<const Node*> nodes);
  ~Config();
  Config(const Config&) = delete;
  Config& operator=(const Config&) = delete;

  /// Null if there is none.
  [[nodiscard]] const Domain* FindDomain(std::string_view name) const;

  /// In the order of their names.
  [[nodiscard]] std::span<const std::unique_ptr<const Domain>> domains() const { return domains_; }
  /// The nodes of all domains, in the order of the files.
  [[nodiscard]] std::span<const Node* const> nodes() const { return nodes_; }

 private:
  std::vector<std::unique_ptr<const Domain>> domains_;
  std::vector<const Node*> nodes_;
};

}  // namespace sluice::envoy
