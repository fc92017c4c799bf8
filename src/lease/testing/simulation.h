#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include <sluice/limit.h>

#include "lease/lease_table.h"

namespace sluice::lease::testing {

/// How the calls of a simulation come in, and what goes wrong meanwhile.
struct Setting {
  std::uint64_t seed = 1;
  std::size_t nodes = 4;
  Micros duration = std::chrono::seconds(10);
  /// What happens before this is not counted, but for what is over.
  Micros warm_up{0};
  /// One for each key, and how many calls a second it gets on average.
  std::vector<Limit> limits;
  std::vector<double> load;
  /// The most that a call costs; costs are spread evenly from 1.
  std::int64_t largest_cost = 1;
  /// If set, all calls of a key go to one node at a time, which changes after this long.
  Micros jump_after{0};
  /// If set, a key's calls come in bursts of its cap, this far apart.
  Micros burst_every{0};

  Micros shortest_delay = std::chrono::microseconds(100);  ///< One way.
  Micros longest_delay = std::chrono::microseconds(200);
  Micros slow_delay = std::chrono::microseconds(2500);
  double slow_share = 0.01;
  double loss = 0;
  double crashes_per_second = 0;
  /// Nodes' clocks run too fast or too slow by up to this.
  double clock_error = 0.0003;
  /// Ask the store for every call.
  bool exact = false;
};

struct Result {
  std::uint64_t calls = 0;
  std::uint64_t asked = 0;        ///< Tokens.
  std::uint64_t allowed = 0;      ///< Tokens.
  std::uint64_t store_calls = 0;  ///< Fetches, checks and returns.
  std::uint64_t hot_calls = 0;    ///< Of keys with ≥ 100 calls a second and node, that are leased.
  std::uint64_t hot_store_calls = 0;
  std::uint64_t deficit = 0;  ///< Tokens that one counter would have admitted, key by key.
  std::uint64_t over = 0;     ///< Tokens admitted beyond what a limit allows.
  std::uint64_t crashes = 0;
  TableStats tables;  ///< Of all nodes that are alive at the end.

  [[nodiscard]] double StoreShare() const { return Share(store_calls, calls); }
  [[nodiscard]] double HotShare() const { return Share(hot_store_calls, hot_calls); }
  [[nodiscard]] double DeficitShare() const { return Share(deficit, asked); }

 private:
  static double Share(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
  }
};

/// Runs nodes with real lease tables around a store with the real arithmetic, in virtual time, with
/// messages that are late, overtake each other or get lost, and nodes that crash. An oracle sees
/// every admission at the moment it happens: `over` counts what the limit did not allow.
Result Simulate(const Setting& setting);

/// The load of keys whose popularity falls as 1/rank.
std::vector<double> ZipfLoad(std::size_t keys, double calls_per_second);

}  // namespace sluice::lease::testing
