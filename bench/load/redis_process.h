#pragma once

#include "load/process.h"

namespace sluice::bench {

/// A redis-server that keeps nothing, on these processors, with the folder as its own.
Process StartRedis(const Cores& cores, const testing::Folder& folder);

}  // namespace sluice::bench
