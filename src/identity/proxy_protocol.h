#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/network.h"

namespace sluice::identity {

/// Reads what a proxy sends ahead of everything else to name the origin of a connection: the PROXY
/// protocol, version 1 (a line of text) or 2 (binary). It is for trusted peers only, and they must
/// send it: other clients could claim any address.
///
/// Bytes may come in pieces of any size. Nothing behind the header is touched, and no more than 107
/// bytes are kept; what a header of version 2 has besides the addresses is passed over.
class ProxyProtocolReader {
 public:
  enum class Status : std::uint8_t {
    kMore,  ///< All bytes are taken; the header goes on.
    kDone,  ///< The remaining bytes belong to the connection.
    kError,
  };

  /// Takes what belongs to the header off the bytes. Not to be called again once it is done.
  Status Read(std::string_view& bytes);

  /// Once it is done: whom the connection is from. Nothing if the proxy speaks for itself (LOCAL,
  /// as in health checks) or has no address (UNKNOWN, UNSPEC, a Unix socket): the peer is meant.
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
  std::size_t wanted_ = 0;   ///< Version 2: how much is kept.
  std::size_t skipped_ = 0;  ///< Version 2: how much is yet to be passed over after that.
  std::optional<Address> source_;
  std::string_view error_;
};

}  // namespace sluice::identity
