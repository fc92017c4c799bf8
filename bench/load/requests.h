#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::bench {

/// The same request again and again, each time with the number of another key:
///
///     Requests requests("GET /check?key=user:#######\r\n\r\n", 1'000'000);
///
/// Keys come in an order that jumps about, and each comes once before the first comes again; or in
/// an order that is given, again and again.
class Requests {
 public:
  static constexpr std::string_view kPlace = "#######";  ///< Where the number goes, in digits.

  /// Throws if the place is not there, or too small for the keys.
  Requests(std::string text, std::uint64_t keys);
  Requests(std::string text, std::vector<std::uint32_t> order);

  /// Appends the next one, and returns its key.
  std::uint64_t Append(std::string& out) {
    const std::size_t begin = out.size();
    out += text_;
    const std::uint64_t key = NextKey();
    WriteKey(key, out.data() + begin + place_);
    return key;
  }

  [[nodiscard]] std::uint64_t keys() const { return keys_; }

 private:
  std::uint64_t NextKey();
  static void WriteKey(std::uint64_t key, char* to);

  std::string text_;
  std::size_t place_;
  std::uint64_t keys_;
  std::uint64_t step_;
  std::uint64_t key_ = 0;             ///< Or where in the order.
  std::vector<std::uint32_t> order_;  ///< Empty: by steps.
};

/// As many keys, the popularity of which falls as 1/(key + 1). The same for the same seed.
std::vector<std::uint32_t> ZipfOrder(std::uint32_t keys, std::size_t length, std::uint64_t seed);

}  // namespace sluice::bench
