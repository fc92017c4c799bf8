#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "rules/attributes.h"

namespace sluice::bench {

/// A rule file as a company with many teams would write it: each team has three rules, of changing
/// kinds. Text, so that loading can be measured too.
std::string RuleFileText(std::size_t rules);

/// A call as a gateway makes it: API key, address, endpoint, method, tier, user and model.
class Request {
 public:
  /// Of a team; meets its three rules and no others.
  Request(std::size_t team, std::uint64_t chance);
  /// With another key and address.
  Request(std::string api_key, std::string ip);

  [[nodiscard]] const std::vector<rules::Attribute>& attributes() const { return attributes_; }

  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

 private:
  void Add(const char* name, std::string value);

  std::vector<std::pair<std::string, std::string>> values_;
  std::vector<rules::Attribute> attributes_;
};

/// A rule file with lists of so many entries: keys, globs of keys and networks.
std::string ListFileText(std::size_t entries);
/// The key and the address of an entry of such a list; from `entries` on of none.
std::string ListedKey(std::size_t entry);
std::string ListedIp(std::size_t entry);

}  // namespace sluice::bench
