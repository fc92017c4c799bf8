#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::bench {

/// The same request again and again, each time with the number of another key:
///
///     Requests requests("GET /check?key=user:#######\r\n\r\n", 1'000'000);
///
/// Keys come in an order that jumps about, and each comes once before the first comes again.
class Requests {
 public:
  static constexpr std::string_view kPlace = "#######";  ///< Where the number goes, in digits.

  /// Throws if the place is not there, or too small for the keys.
  Requests(std::string text, std::uint64_t keys);

  /// Appends the next one.
  void Append(std::string& out) {
    const std::size_t begin = out.size();
    out += text_;
    WriteKey(out.data() + begin + place_);
  }

  [[nodiscard]] std::uint64_t keys() const { return keys_; }

 private:
  void WriteKey(char* to);

  std::string text_;
  std::size_t place_;
  std::uint64_t keys_;
  std::uint64_t step_;
  std::uint64_t key_ = 0;
};

}  // namespace sluice::bench
