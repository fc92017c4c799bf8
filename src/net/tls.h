#pragma once

#include <optional>
#include <string>

#include <boost/asio/ssl/context.hpp>

#include "net/stream.h"

// Includes Asio: for the sources of this room.

namespace sluice::net {

/// Makes `context` what the options say. Returns what is wrong with them, if anything.
[[nodiscard]] std::optional<std::string> ConfigureTls(const TlsOptions& options,
                                                      boost::asio::ssl::context& context);

/// Tells one connection whom it should reach. Returns what is wrong with the name, if anything.
[[nodiscard]] std::optional<std::string> ExpectServer(const TlsOptions& options,
                                                      const std::string& host, SSL* connection);

/// Why a handshake failed: what is wrong with the certificate, or else `error`.
[[nodiscard]] std::string HandshakeFailure(SSL* connection, const boost::system::error_code& error);

}  // namespace sluice::net
