#pragma once

#include <string>
#include <string_view>

#include "net/address.h"

namespace sluice::app {

/// Returns the URL by which clients on this machine reach a listener: `http://127.0.0.1:8080` for
/// one on every address, `unix:/path` for a Unix socket.
[[nodiscard]] std::string LocalUrl(std::string_view scheme, const net::ListenAddress& address);

}  // namespace sluice::app
