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

  /// Returns the field with the domain's name; not set, and reported, if absent.
  [[nodiscard]] config_text::Field ReadDomain();
  /// Added nodes are appended to `nodes`.
  void ReadDescriptors(DomainTables& tables, std::vector<Node*>& nodes);

 private:
  /// Properties that a descriptor inherits from the levels above.
  struct ParentLevel {
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
  void ReadList(const config_text::Field& list, const ParentLevel& above);
  void ReadDescriptor(const config_text::Field& item, const ParentLevel& above);
  /// Returns null, and reports an error, if it is duplicate.
  Descriptor* AddDescriptor(const config_text::Field& item, const ParentLevel& above,
                            const std::string& key, const std::string& value);
  static ParentLevel LevelBelow(const Descriptor& descriptor, const ParentLevel& above);
  void ReadLimit(const config_text::Mapping& mapping, const config_text::Field& item,
                 Descriptor& descriptor, const ParentLevel& level);
  void ReadBeyond(const config_text::Mapping& mapping, Node& node);
  bool Flag(const config_text::Mapping& mapping, std::string_view name);
  /// Returns an empty text if it is absent or invalid.
  std::string TextOf(const config_text::Field& field, std::string_view expected);

  config_text::Reading& reading_;
  config_text::Mapping mapping_;
  Defaults defaults_;
  DomainTables* tables_ = nullptr;
  std::vector<Node*>* nodes_ = nullptr;
  std::string_view file_;
};

}  // namespace sluice::envoy
