#pragma once

#include <cstdint>

namespace sluice::envoy {

/// Where callers may give hits back without a receipt, which can refund more than they consumed.
enum class NegativeHits : std::uint8_t {
  kOff,
  kEnvoyDomains,  ///< Over gRPC, in domains of Envoy's configuration.
  kOn,            ///< Also over /json, in domains that rules evaluate, and with CL.THROTTLE.
};

}  // namespace sluice::envoy
