#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/limit.h>

#include "envoy/domain_tables.h"
#include "envoy/rate_limit_reader.h"
#include "rules/mapping.h"
#include "rules/model.h"
#include "rules/reading.h"

namespace sluice::envoy {

/// Reads one file: a domain, or a part of one.
class FileReader {
 public:
  FileReader(rules::Reading& reading, const rules::Field& root);

  /// Not set if the file does not name one, which has been said. `Text` of it is the name.
  [[nodiscard]] rules::Field ReadDomain();
  /// `nodes` is told of those that are added.
  void ReadDescriptors(DomainTables& tables, std::vector<Node*>& nodes);

 private:
  /// What the levels above say to a descriptor.
  struct Above {
    std::uint32_t id = DomainTables::kRoot;
    std::string rule_id;
    std::string scope;
    std::vector<std::string> counted_by;
  };
  /// What holds where a descriptor does not say otherwise.
  struct Defaults {
    Algorithm algorithm = Algorithm::kFixedWindow;
    rules::Consistency consistency = rules::Consistency::kExact;
    rules::OnStoreFailure on_store_failure = rules::OnStoreFailure::kOpen;
    bool count_denied = false;
  };

  void ReadDefaults();
  void ReadList(const rules::Field& list, const Above& above);
  void ReadDescriptor(const rules::Field& item, const Above& above);
  /// Null if it stands there already, which has been said.
  Descriptor* AddDescriptor(const rules::Field& item, const Above& above, const std::string& key,
                            const std::string& value);
  static Above LevelBelow(const Descriptor& descriptor, const Above& above);
  void ReadLimit(const rules::Mapping& mapping, const rules::Field& item, Descriptor& descriptor,
                 const Above& level);
  void ReadBeyond(const rules::Mapping& mapping, Node& node);
  bool Flag(const rules::Mapping& mapping, std::string_view name);
  /// Empty if there is none, or if it is wrong.
  std::string TextOf(const rules::Field& field, std::string_view expected);

  rules::Reading& reading_;
  rules::Mapping mapping_;
  Defaults defaults_;
  DomainTables* tables_ = nullptr;
  std::vector<Node*>* nodes_ = nullptr;
  std::string_view file_;
};

}  // namespace sluice::envoy
