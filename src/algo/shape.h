#pragma once

#include <cstdint>

#include <sluice/limit.h>

namespace sluice::algo {

/// Numbers of limits, written down once for the whole process, so that a key can remember in two
/// bytes under which numbers its state was written. Nothing is ever removed: a process sees few
/// different limits, and past kMaxShapes keys carry their numbers themselves.
inline constexpr std::uint32_t kMaxShapes = 65535;

/// The shape of these numbers, from 1; 0 when the table is full. Thread-safe.
std::uint32_t ShapeOf(const LimitNumbers& numbers);

/// For a shape that ShapeOf returned, to a thread that came by it through synchronisation.
const LimitNumbers& NumbersOf(std::uint32_t shape);

}  // namespace sluice::algo
