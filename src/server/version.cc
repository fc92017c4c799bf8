#include "server/version.h"

namespace sluice::server {

const std::string_view kVersion = SLUICE_VERSION;

}  // namespace sluice::server
