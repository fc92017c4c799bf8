#pragma once

/// All public headers of the library.

#include <sluice/decision.h>     // IWYU pragma: export
#include <sluice/http_filter.h>  // IWYU pragma: export
#include <sluice/limit.h>        // IWYU pragma: export
#include <sluice/limiter.h>      // IWYU pragma: export
#include <sluice/result.h>       // IWYU pragma: export
#include <sluice/rules.h>        // IWYU pragma: export
#include <sluice/time.h>         // IWYU pragma: export
