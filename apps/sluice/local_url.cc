#include "local_url.h"

namespace sluice::app {

std::string LocalUrl(std::string_view scheme, const net::ListenAddress& address) {
  if (address.is_unix()) return net::ToText(address);
  net::ListenAddress reached = address;
  if (reached.host.empty() || reached.host == "0.0.0.0" || reached.host == "::") {
    reached.host = "127.0.0.1";
  }
  return std::string(scheme) + "://" + net::ToText(reached);
}

}  // namespace sluice::app
