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

/// The compiled configuration of Envoy's rate limit service, in the format of envoyproxy/ratelimit.
/// docs/envoy.md describes the language.
namespace sluice::envoy {

/// An entry of a request's descriptor.
struct Entry {
  std::string_view key;
  std::string_view value;
};

/// A configured descriptor with a limit.
struct Node {
  /// A rule with one limit, so that metrics, leases and failure modes work like for other rules.
  /// Its id is the name of the original's statistics: the domain, and "key" or "key_value" of each
  /// level, separated by dots. `shadow` is the file's `shadow_mode`.
  rules::Rule rule;

  std::uint32_t requests_per_unit = 0;  ///< Reported to the caller, as are the next two.
  Unit unit = Unit::kUnknown;
  std::string name;

  bool unlimited = false;  ///< Nothing is counted; the rule's limit is undefined.
  bool quota_mode = false;
  bool count_denied = false;  ///< Denied calls count, too, as in the original.
  std::vector<std::string>
      replaces;          ///< Names of limits that are not evaluated together with this one.
  std::string metadata;  ///< An encoded google.protobuf.Struct, for callers within the limit.

  std::string file;   ///< The file; the line is the rule's.
  std::string scope;  ///< Scope of its keys; unique among nodes and rules.

  [[nodiscard]] const rules::NamedLimit& limit() const { return rule.variants.usual.front(); }
};

/// The key of a counter. Reused for many requests, so that it does not allocate in the steady
/// state.
class FoundKey {
 public:
  /// Points into the configuration, the entries and this; valid until one of them changes.
  [[nodiscard]] Key key() const { return {.scope = scope_, .tag = tag_, .rest = rest_}; }

 private:
  friend class Domain;

  void Clear();
  /// Adds a value that the counter depends on.
  void Add(std::string_view value);
  void Finish(std::string_view scope, std::string_view tag_of_all);

  std::string_view scope_;
  std::string_view tag_;
  std::string rest_;
  std::size_t values_ = 0;
};

class DomainTables;

/// The descriptors of one domain. Immutable and thread-safe.
class Domain {
 public:
  explicit Domain(std::unique_ptr<const DomainTables> tables);
  ~Domain();
  Domain(const Domain&) = delete;
  Domain& operator=(const Domain&) = delete;

  [[nodiscard]] std::string_view name() const;

  /// Returns the limit of a request's descriptor and sets the key of its counter; null if there is
  /// none, and the descriptor is allowed. Searches level by level: the exact value, else the first
  /// matching wildcard, else the key alone. Does not backtrack.
  const Node* Find(std::span<const Entry> entries, FoundKey& key) const;

  [[nodiscard]] const DomainTables& tables() const { return *tables_; }

  /// Sets the key of the counter of a limit in the request.
  void KeyOf(std::span<const Entry> entries, FoundKey& key, Unit unit = Unit::kUnknown) const;

 private:
  std::unique_ptr<const DomainTables> tables_;
};

/// All domains. Immutable, shared by all threads.
class Config {
 public:
  /// `nodes` are the nodes of the domains.
  Config(std::vector<std::unique_ptr<const Domain>> domains, std::vector<const Node*> nodes);
  ~Config();
  Config(const Config&) = delete;
  Config& operator=(const Config&) = delete;

  /// Returns null if there is none.
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
