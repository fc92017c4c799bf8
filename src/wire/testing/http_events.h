#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "wire/http_reader.h"

namespace sluice::wire {

/// A request with all that it says, in one line.
[[nodiscard]] std::string Describe(const HttpRequest& request);

/// Gives the bytes to the reader in these pieces, and tells what it reported: requests, "continue"
/// with what is known then, and the error. Each piece is gone when the next one comes.
[[nodiscard]] std::vector<std::string> ReadPieces(const std::vector<std::string_view>& pieces,
                                                  const HttpLimits& limits = {});

/// The same for bytes that come at once, or so many at a time.
[[nodiscard]] std::vector<std::string> ReadWhole(std::string_view bytes,
                                                 const HttpLimits& limits = {});
[[nodiscard]] std::vector<std::string> ReadSplit(std::string_view bytes, std::size_t piece,
                                                 const HttpLimits& limits = {});

}  // namespace sluice::wire
