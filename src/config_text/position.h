#pragma once

namespace sluice::config_text {

/// A position in a file; both numbers start at 1.
struct Position {
  int line = 0;
  int column = 0;

  friend bool operator==(const Position&, const Position&) = default;
};

}  // namespace sluice::config_text
