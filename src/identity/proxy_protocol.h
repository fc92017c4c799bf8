#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/network.h"

namespace sluice::identity {

/// Incremental parser of the PROXY protocol, version 1 (text) or 2 (binary), with which a proxy
/// reports the origin of a connection. Only for trusted peers, which must send it: other clients
/// could claim any address.
///
/// Bytes behind the header are not consumed, and at most 107 bytes are buffered; other data in a
/// header of version 2 is skipped.
class ProxyProtocolReader {
 public:
  enum class Status : std::uint8_t {
    kMore,  ///< All bytes were consumed; the header is incomplete.
    kDone,  ///< The remaining bytes belong to the connection.
    kError,
  };

  /// Removes the header's bytes from the front of `bytes`. Must not be called again after kDone.
  Status Read(std::string_view& bytes);

  /// After kDone: the origin of the connection. Nothing if it is the proxy itself (LOCAL, as in
  /// health checks) or has no address (UNKNOWN, UNSPEC, a Unix socket).
  [[nodiscard]] const std::optional<Address>& source() const { return source_; }

  /// Returns the error message.
  [[nodiscard]] std::string_view error() const { return error_; }

 private:
  static constexpr std::size_t kMaxLine = 107;  ///< With its CRLF.

  Status ReadLine(std::string_view& bytes);
  Status ReadBinary(std::string_view& bytes);
  Status ParseLine(std::string_view line);
  bool ParseFixed();
  Status ParseAddresses();
  Status Fail(std::string_view error);
  bool FillTo(std::size_t size, std::string_view& bytes);
  [[nodiscard]] std::uint8_t Byte(std::size_t at) const {
    return static_cast<std::uint8_t>(kept_[at]);
  }

  std::array<char, kMaxLine> kept_;
  std::size_t size_ = 0;
  bool fixed_parsed_ = false;
  std::size_t wanted_ = 0;   ///< Version 2: bytes to buffer.
  std::size_t skipped_ = 0;  ///< Version 2: bytes to skip after that.
  std::optional<Address> source_;
  std::string_view error_;
};

}  // namespace sluice::identity
