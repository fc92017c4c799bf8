#include "transport/certificate.h"

#include <utility>
#include <vector>

#include "base/fingerprint.h"

namespace sluice::transport {

WatchedFiles FilesOf(const net::TlsServerOptions& options) {
  std::vector<std::string> files;
  for (const std::string& path : {options.certificate, options.key, options.client_ca}) {
    if (!path.empty()) files.push_back(path);
  }
  return WatchedFiles(std::move(files));
}

LoadReport LoadCertificate(Live<net::TlsContext>& live, const std::string& section,
                           const net::TlsServerOptions& options, const FileChange& change,
                           WallTime now) {
  return live.Load(section, Fingerprint(change), now, [&]() -> LiveCandidate<net::TlsContext> {
    auto context = net::TlsContext::Load(options, now);
    if (!context) return {.errors = {section + "." + context.error().message}};
    std::vector<std::string> warnings;
    for (const std::string& warning : (*context)->warnings()) {
      warnings.push_back(section + "." + warning);
    }
    return {.value = *std::move(context), .warnings = std::move(warnings)};
  });
}

}  // namespace sluice::transport
