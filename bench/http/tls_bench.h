#pragma once

#include "run_bench.h"

namespace sluice::bench {

/// What TLS costs: checks over HTTP and over HTTPS, by `wrk`, interleaved.
void RunTlsBench(const Options& options);

}  // namespace sluice::bench
