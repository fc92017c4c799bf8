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

/// One level of a path through a domain, as configured.
struct Descriptor {
  std::string key;
  std::string value;  ///< Empty: any.
  std::uint32_t id = 0;
  std::uint32_t parent = 0;
  /// Each value in requests has its own counter.
  bool counts_values = false;
  const Node* node = nullptr;  ///< Null: no limit.
  std::string_view file;       ///< The file.
  config_text::Position position;
};

/// Index of the descriptors of a domain, of all levels: two hash lookups for each entry of a
/// request, and a scan of the wildcards of its key, if any. Filled once, then read-only.
class DomainTables {
 public:
  static constexpr std::uint32_t kRoot = 0;  ///< The parent of the first level.

  explicit DomainTables(std::string name);
  DomainTables(const DomainTables&) = delete;
  DomainTables& operator=(const DomainTables&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }

  // ---- Filling.

  /// Adds a descriptor, which lives as long as this. Returns null if parent, key and value are
  /// duplicate.
  Descriptor* Add(std::uint32_t parent, std::string_view key, std::string_view value);
  Node& AddNode() { return nodes_.emplace_back(); }
  /// Stores a file name, which lives as long as this.
  std::string_view AddFile(std::string name) { return files_.emplace_back(std::move(name)); }
  /// Returns null if there is none.
  [[nodiscard]] const Descriptor* FindExact(std::uint32_t parent, std::string_view key,
                                            std::string_view value) const;

  // ---- Reading.

  /// Returns the descriptor for an entry of a request, or null.
  [[nodiscard]] const Descriptor* Choose(std::uint32_t parent, const Entry& entry) const;
  [[nodiscard]] std::string_view scope_of_requests(Unit unit) const;
  /// In the order of the files.
  [[nodiscard]] const std::deque<Node>& nodes() const { return nodes_; }
  [[nodiscard]] const std::deque<Descriptor>& descriptors() const { return descriptors_; }

 private:
  static constexpr std::uint32_t kNone = static_cast<std::uint32_t>(-1);

  /// The descriptors of a level with the same key, except for exact values.
  struct Group {
    std::uint32_t first;                ///< Any descriptor with this parent and key.
    const Descriptor* alone = nullptr;  ///< The key without a value.
    std::vector<std::pair<rules::Glob, const Descriptor*>>
        wildcards;  ///< In the order of the file.
  };
  struct Slot {
    std::uint32_t index = kNone;
    [[nodiscard]] bool empty() const { return index == kNone; }
  };
  [[nodiscard]] const Group* FindGroup(std::uint32_t parent, std::string_view key) const;

  std::string name_;
  std::array<std::string, 8> scopes_of_requests_;
  std::deque<std::string> files_;
  std::deque<Node> nodes_;
  std::deque<Descriptor> descriptors_;  ///< Id n is at index n - 1.
  std::vector<Group> groups_;
  FlatIndex<Slot> exact_;
  FlatIndex<Slot> by_key_;
};

/// Returns whether a configured value has a wildcard.
[[nodiscard]] inline bool IsWildcard(std::string_view value) {
  return value.find('*') != std::string_view::npos;
}

}  // namespace sluice::envoy
