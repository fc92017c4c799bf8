#pragma once

#include <string>
#include <vector>

namespace sluice::rules {

/// An entry of a directory.
struct Place {
  std::string directory;  ///< Absolute, and free of symbolic links.
  std::string name;

  friend bool operator==(const Place&, const Place&) = default;
};

/// The entries that decide what a path leads to: every symbolic link on the way, in the order in
/// which they are followed, and the last entry, which is the file. Where the way ends early, the
/// entry that is missing is the last.
///
///     /etc/sluice/rules.yaml -> ..data/rules.yaml, /etc/sluice/..data -> ..2026_11_15
///     gives rules.yaml, ..data in /etc/sluice and rules.yaml in /etc/sluice/..2026_11_15
[[nodiscard]] std::vector<Place> PlacesOn(const std::string& path);

}  // namespace sluice::rules
