#include "server/connection_counters.h"

namespace sluice::server {

ConnectionTotals& ConnectionTotals::operator+=(const ConnectionCounters& counters) {
  // Before `accepted`, lest more seem to have gone than came.
  closed += counters.closed.value();
  accepted += counters.accepted.value();
  refused_total += counters.refused_total.value();
  refused_per_address += counters.refused_per_address.value();
  idle_closed += counters.idle_closed.value();
  slow_closed += counters.slow_closed.value();
  output_overflow += counters.output_overflow.value();
  reset += counters.reset.value();
  cut += counters.cut.value();
  fd_limit += counters.fd_limit.value();
  bad_proxy_header += counters.bad_proxy_header.value();
  bytes_in += counters.bytes_in.value();
  bytes_out += counters.bytes_out.value();
  for (std::size_t i = 0; i < handshakes.values.size(); ++i) {
    handshakes.values[i] += counters.handshakes.values[i].value();
  }
  tls_broken += counters.tls_broken.value();
  return *this;
}

}  // namespace sluice::server
