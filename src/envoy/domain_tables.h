#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/flat_index.h"
#include "envoy/config.h"
#include "rules/glob.h"

namespace sluice::envoy {

/// One level of a path through a domain, as the file has it.
struct Descriptor {
  std::string key;
  std::string value;  ///< Empty: any.
  std::uint32_t id = 0;
  std::uint32_t parent = 0;
  /// Each value that a request has here is a counter of its own.
  bool counts_values = false;
  const Node* node = nullptr;  ///< Null: no limit.
  std::string_view file;       ///< Where it was found.
  config_text::Position position;
};

/// The descriptors of a domain, of all levels, and how they are found: by two looks into hash
/// tables for each entry of a request, and a look at the wildcards of that key, if it has any.
/// Filled first, then only read.
class DomainTables {
 public:
  static constexpr std::uint32_t kRoot = 0;  ///< The parent of the first level.

  explicit DomainTables(std::string name);
  DomainTables(const DomainTables&) = delete;
  DomainTables& operator=(const DomainTables&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }

  // ---- Filling.

  /// Lives as long as this. Null: there is one with that parent, key and value already.
  Descriptor* Add(std::uint32_t parent, std::string_view key, std::string_view value);
  Node& AddNode() { return nodes_.emplace_back(); }
  /// The name, for as long as this lives.
  std::string_view AddFile(std::string name) { return files_.emplace_back(std::move(name)); }
  /// Null if there is none.
  [[nodiscard]] const Descriptor* FindExact(std::uint32_t parent, std::string_view key,
                                            std::string_view value) const;

  // ---- Reading.

  /// Null if no descriptor of that level is for the entry.
  [[nodiscard]] const Descriptor* Choose(std::uint32_t parent, const Entry& entry) const;
  [[nodiscard]] std::string_view scope_of_requests(Unit unit) const;
  /// In the order of the files.
  [[nodiscard]] const std::deque<Node>& nodes() const { return nodes_; }
  [[nodiscard]] const std::deque<Descriptor>& descriptors() const { return descriptors_; }

 private:
  static constexpr std::uint32_t kNone = static_cast<std::uint32_t>(-1);

  /// The entries of a level for a key, besides exact values.
  struct Group {
    std::uint32_t first;                ///< A descriptor of that parent and key.
    const Descriptor* alone = nullptr;  ///< The key without a value.
    std::vector<std::pair<rules::Glob, const Descriptor*>> wildcards;  ///< As declared.
  };
  struct Place {
    std::uint32_t index = kNone;
    [[nodiscard]] bool empty() const { return index == kNone; }
  };
  [[nodiscard]] const Group* FindGroup(std::uint32_t parent, std::string_view key) const;

  std::string name_;
  std::array<std::string, 8> scopes_of_requests_;
  std::deque<std::string> files_;
  std::deque<Node> nodes_;
  std::deque<Descriptor> descriptors_;  ///< The one with the id n is at n - 1.
  std::vector<Group> groups_;
  FlatIndex<Place> exact_;
  FlatIndex<Place> by_key_;
};

/// Whether a value of a file is for many values.
[[nodiscard]] inline bool IsWildcard(std::string_view value) {
  return value.find('*') != std::string_view::npos;
}

}  // namespace sluice::envoy
