#pragma once

#include <cstdint>

#include <sluice/limit.h>

namespace sluice::algo {

/// Interned limit numbers of the process, so that a key refers to the numbers of its state in two
/// bytes. Nothing is ever removed: there are few different limits, and beyond kMaxShapes keys store
/// their numbers themselves.
inline constexpr std::uint32_t kMaxShapes = 65535;

/// Returns the shape of these numbers, from 1; 0 if the table is full. Thread-safe.
std::uint32_t ShapeOf(const LimitNumbers& numbers);

/// Returns the numbers of a shape that ShapeOf returned, on this thread or on one that this thread
/// synchronized with.
const LimitNumbers& NumbersOf(std::uint32_t shape);

}  // namespace sluice::algo
