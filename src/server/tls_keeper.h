#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/result.h>

#include "net/loop.h"
#include "net/timer.h"
#include "server/entrance.h"
#include "server/tls_files.h"
#include "telemetry/log.h"

namespace sluice::server {

/// Sees to it that entrances have the certificates that their files hold: at the start, when it is
/// told, and within a few seconds after the files change. Connections keep what they began with.
/// Lives on the main loop.
class TlsKeeper {
 public:
  TlsKeeper(net::Loop& main, telemetry::Log& log);
  TlsKeeper(const TlsKeeper&) = delete;
  TlsKeeper& operator=(const TlsKeeper&) = delete;

  /// Reads the files for an entrance, which must live as long. An error names the setting to blame.
  Result<bool> Keep(std::string section, const net::TlsServerOptions& options, Entrance& entrance);

  /// Reads all files again. Where they are wrong, the log says so, and what was there before stays.
  void Reload();

  /// Null: there is none of that name. What is thread-safe in it may be read from any thread.
  [[nodiscard]] const TlsFiles* Find(std::string_view section) const;

 private:
  struct Kept {
    std::unique_ptr<TlsFiles> files;
    Entrance* entrance;
  };

  void Reload(Kept& kept);
  void TellOf(const TlsFiles& files);
  void LookForChanges();

  net::Loop& main_;
  telemetry::Log& log_;
  std::vector<Kept> kept_;
  net::Timer look_;
};

}  // namespace sluice::server
