#pragma once

#include <string>

#include <sluice/time.h>

#include "base/live.h"
#include "base/watched_files.h"
#include "net/tls_context.h"

namespace sluice::transport {

/// Returns the files of the certificate, its key and the client CA.
[[nodiscard]] WatchedFiles FilesOf(const net::TlsServerOptions& options);

/// Activates the certificate of one protocol's TLS listeners; with errors, the previous one stays.
/// `section` is the name of its settings ("http_tls"): errors name the setting.
LoadReport LoadCertificate(Live<net::TlsContext>& live, const std::string& section,
                           const net::TlsServerOptions& options, const FileChange& change,
                           WallTime now);

}  // namespace sluice::transport
