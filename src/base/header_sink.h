#pragma once

#include <cstdint>
#include <string_view>

namespace sluice {

/// Receives the headers of a response.
class HeaderSink {
 public:
  virtual HeaderSink& Add(std::string_view name, std::string_view value) = 0;
  virtual HeaderSink& Add(std::string_view name, std::int64_t value) = 0;

 protected:
  ~HeaderSink() = default;
};

}  // namespace sluice
