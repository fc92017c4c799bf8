#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/network_table.h"
#include "match/pattern_table.h"
#include "rules/model.h"

namespace sluice::match {

/// An allow or deny list of API keys and networks, made for 100 000 entries. Immutable, so any
/// thread may look; allocates nothing then.
class AccessList {
 public:
  AccessList() = default;
  /// The entries must outlive this.
  explicit AccessList(std::span<const rules::Pattern> entries);

  /// An entry that the key or the address is on, or null. Both may be missing.
  [[nodiscard]] const rules::Pattern* Find(std::string_view api_key,
                                           const std::optional<Address>& address) const;

  [[nodiscard]] bool empty() const { return entries_.empty(); }

 private:
  std::span<const rules::Pattern> entries_;
  std::vector<const rules::Pattern*> network_entries_;
  PatternTable keys_;
  NetworkTable networks_;
};

}  // namespace sluice::match
