#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "envoy/config.h"

namespace sluice::api {

/// A limit that a descriptor brings.
struct EnvoyOverride {
  std::uint32_t requests_per_unit = 0;
  std::uint32_t unit = 0;  ///< As it was sent: may be none that there is.
};

struct EnvoyDescriptor {
  std::size_t first_entry = 0;  ///< Of the request's entries.
  std::size_t entries = 0;
  std::optional<EnvoyOverride> limit{};
  std::optional<std::uint64_t> hits{};
  bool gives_back = false;
};

/// An envoy.service.ratelimit.v3.RateLimitRequest; points into what it was read from. Made once and
/// used for many: after the first few it allocates nothing.
struct EnvoyRequest {
  static constexpr std::size_t kMostDescriptors = 1000;
  static constexpr std::size_t kMostEntries = 10'000;

  std::string_view domain;
  std::uint32_t hits_addend = 0;
  std::vector<EnvoyDescriptor> descriptors;
  std::vector<envoy::Entry> entries;  ///< Of all descriptors, in order.

  void Clear();
  [[nodiscard]] std::span<const envoy::Entry> EntriesOf(const EnvoyDescriptor& descriptor) const {
    return std::span(entries).subspan(descriptor.first_entry, descriptor.entries);
  }
  [[nodiscard]] bool is_too_long() const {
    return descriptors.size() > kMostDescriptors || entries.size() > kMostEntries;
  }
};

/// Reads a protobuf message. False: it is malformed. What is longer than there may be is not read
/// to its end.
bool ReadEnvoyRequest(std::string_view message, EnvoyRequest& request);

}  // namespace sluice::api
