#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "envoy/config.h"

namespace sluice::envoy::testing {

/// A descriptor as a file has it; the plainest form there is.
struct PlainDescriptor {
  std::string key;
  std::string value;
  bool shares = false;
  int requests = -1;  ///< −1: no limit.
  bool unlimited = false;
  std::vector<PlainDescriptor> below;
};

/// Files and requests by chance, from few names and values, so that requests often meet limits and
/// as often miss them by little.
class RandomConfig {
 public:
  explicit RandomConfig(std::uint64_t seed) : random_(seed) {}

  std::vector<PlainDescriptor> Descriptors(int depth);
  /// Keys and values of a request's descriptor.
  using Request = std::vector<std::pair<std::string, std::string>>;
  Request AnyRequest();
  /// One whose keys are those of a way through the descriptors, mostly.
  Request RequestFor(const std::vector<PlainDescriptor>& descriptors);

  std::size_t Below(std::size_t n) { return random_() % n; }

 private:
  std::string Value();
  std::string Pattern();

  std::mt19937_64 random_;
  int limits_ = 0;
};

/// The file that says so, of the domain "d".
std::string AsYaml(const std::vector<PlainDescriptor>& descriptors);

/// Which limit a request meets, and the values that it is counted by: slowly, and obviously.
struct PlainAnswer {
  int requests = -1;  ///< −1: none.
  bool unlimited = false;
  std::vector<std::string> counted_by;
};
PlainAnswer Judge(const std::vector<PlainDescriptor>& descriptors,
                  const RandomConfig::Request& request);

/// The request's, pointing into it.
std::vector<Entry> AsEntries(const RandomConfig::Request& request);

}  // namespace sluice::envoy::testing
