#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/ascii.h"

namespace sluice::identity {

/// The header lines of a request, independent of the parser.
class Headers {
 public:
  virtual ~Headers() = default;

  /// Finds the next line with this name, ignoring case, from index `at` on, and moves `at` behind
  /// it. Returns false if there is none.
  virtual bool Next(std::string_view name, std::size_t& at, std::string_view& value) const = 0;
};

/// Headers in a span of any type with a name and a value.
template <typename Header>
class HeaderSpan final : public Headers {
 public:
  explicit HeaderSpan(std::span<const Header> headers) : headers_(headers) {}

  bool Next(std::string_view name, std::size_t& at, std::string_view& value) const override {
    while (at < headers_.size()) {
      const Header& header = headers_[at++];
      if (!EqualIgnoringCase(header.name, name)) continue;
      value = header.value;
      return true;
    }
    return false;
  }

 private:
  std::span<const Header> headers_;
};

/// A header line.
struct HeaderLine {
  std::string_view name;
  std::string_view value;
};

}  // namespace sluice::identity
