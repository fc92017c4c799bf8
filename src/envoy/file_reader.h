#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/limit.h>

#include "config_text/mapping.h"
#include "config_text/reading.h"
#include "envoy/domain_tables.h"
#include "envoy/rate_limit_reader.h"
#include "rules/model.h"

namespace sluice::envoy {

/// Reads one file: a domain, or a part of one.
class FileReader {
 public:
  FileReader(config_text::Reading& reading, const config_text::Field& root);

  /// Not set if the file does not name one, which has been said. `Text` of it is the name.
  [[nodiscard]] config_text::Field ReadDomain();
  /// Added nodes are appended to `nodes`.
  void ReadDescriptors(DomainTables& tables, std::vector<Node*>& nodes);

 private:
  /// Properties that a descriptor inherits from the levels above.
  struct Above {
    std::uint32_t id = DomainTables::kRoot;
    std::string rule_id;
    std::string scope;
    std::vector<std::string> counted_by;
  };
  /// Defaults of descriptors.
  struct Defaults {
    Algorithm algorithm = Algorithm::kFixedWindow;
    rules::Consistency consistency = rules::Consistency::kExact;
    rules::OnStoreFailure on_store_failure = rules::OnStoreFailure::kOpen;
    rules::WhenFull when_full = rules::WhenFull::kShared;
    bool count_denied = false;
  };

  void ReadDefaults();
  void ReadList(const config_text::Field& list, const Above& above);
  void ReadDescriptor(const config_text::Field& item, const Above& above);
  /// Null if it stands there already, which has been said.
  Descriptor* AddDescriptor(const config_text::Field& item, const Above& above,
                            const std::string& key, const std::string& value);
  static Above LevelBelow(const Descriptor& descriptor, const Above& above);
  void ReadLimit(const config_text::Mapping& mapping, const config_text::Field& item,
                 Descriptor& descriptor, const Above& level);
  void ReadBeyond(const config_text::Mapping& mapping, Node& node);
  bool Flag(const config_text::Mapping& mapping, std::string_view name);
  /// Empty if there is none, or if it is wrong.
  std::string TextOf(const config_text::Field& field, std::string_view expected);

  config_text::Reading& reading_;
  config_text::Mapping mapping_;
  Defaults defaults_;
  DomainTables* tables_ = nullptr;
  std::vector<Node*>* nodes_ = nullptr;
  std::string_view file_;
};

}  // namespace sluice::envoy
