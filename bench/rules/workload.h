#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "match/attributes.h"

namespace sluice::bench {

/// A rule file as a company with many teams would write it: each team has three rules, of changing
/// kinds. Text, so that loading can be measured too.
std::string RuleFileText(std::size_t rules);

/// Calls as a gateway makes them. A call's attributes come in a buffer that was just read, so
/// reading them must not cost cache misses here either: their text lies in a row.
class Requests {
 public:
  using Values = std::vector<std::pair<const char*, std::string>>;

  /// All of one number of attributes.
  explicit Requests(const std::vector<Values>& calls);

  [[nodiscard]] std::size_t size() const { return attributes_.size() / width_; }
  [[nodiscard]] match::Attributes operator[](std::size_t i) const {
    return {attributes_.data() + i * width_, width_};
  }

 private:
  std::size_t width_;
  std::string text_;
  std::vector<Attribute> attributes_;
};

/// API key, address, endpoint, method, tier, user and model of a call by a team; meets the team's
/// three rules and no others.
Requests::Values TeamCall(std::size_t team, std::uint64_t chance);
/// A call with a key and an address.
Requests::Values PlainCall(std::string api_key, std::string ip);

/// A rule file with lists of so many entries: keys, globs of keys and networks.
std::string ListFileText(std::size_t entries);
/// The key and the address of an entry of such a list; from `entries` on of none.
std::string ListedKey(std::size_t entry);
std::string ListedIp(std::size_t entry);

}  // namespace sluice::bench
