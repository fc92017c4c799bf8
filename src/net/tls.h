#pragma once

#include <optional>
#include <string>

#include <boost/asio/ssl/context.hpp>

#include "net/stream.h"

// Includes Asio: for the sources of this room and of http_client.

namespace sluice::net {

/// Applies the options to `context`. Returns an error message, or nothing.
[[nodiscard]] std::optional<std::string> ConfigureTls(const TlsOptions& options,
                                                      boost::asio::ssl::context& context);

/// Sets the expected server name of a connection. Returns an error message, or nothing.
[[nodiscard]] std::optional<std::string> ExpectServer(const TlsOptions& options,
                                                      const std::string& host, SSL* connection);

/// Returns the reason of a failed handshake: the certificate's problem, or else `error`.
[[nodiscard]] std::string HandshakeFailure(SSL* connection, const boost::system::error_code& error);

}  // namespace sluice::net
