#include "server/tls_keeper.h"

#include <utility>

#include "base/clock.h"

namespace sluice::server {
namespace {

using telemetry::LogLevel;

constexpr Micros kBetweenLooks = std::chrono::seconds(1);

}  // namespace

TlsKeeper::TlsKeeper(net::Loop& main, telemetry::Log& log)
    : main_(main), log_(log), look_(main, [this] { LookForChanges(); }) {}

Result<bool> TlsKeeper::Keep(std::string section, const net::TlsServerOptions& options,
                             Entrance& entrance) {
  auto files = std::make_unique<TlsFiles>(std::move(section), options);
  if (auto loaded = files->Load(TheSystemClock().Now()); !loaded) return loaded.error();
  TellOf(*files);
  entrance.UseTls(files->context());
  kept_.push_back({.files = std::move(files), .entrance = &entrance});
  look_.Set(main_.Now() + kBetweenLooks);
  return true;
}

void TlsKeeper::Reload() {
  for (Kept& kept : kept_) Reload(kept);
}

void TlsKeeper::Reload(Kept& kept) {
  if (auto loaded = kept.files->Load(TheSystemClock().Now()); !loaded) {
    return log_.Write(LogLevel::kError, "certificate refused; the one before stays in use",
                      {{"mistake", loaded.error().message}});
  }
  kept.entrance->UseTls(kept.files->context());
  log_.Write(LogLevel::kInfo, "certificate loaded", {{"for", kept.files->section()}});
  TellOf(*kept.files);
}

void TlsKeeper::TellOf(const TlsFiles& files) {
  for (const std::string& warning : files.context()->warnings()) {
    log_.Write(LogLevel::kWarn, "doubt about a certificate",
               {{"doubt", files.section() + "." + warning}});
  }
}

void TlsKeeper::LookForChanges() {
  for (Kept& kept : kept_) {
    if (kept.files->HaveChanged()) Reload(kept);
  }
  look_.Set(main_.Now() + kBetweenLooks);
}

const TlsFiles* TlsKeeper::Find(std::string_view section) const {
  for (const Kept& kept : kept_) {
    if (kept.files->section() == section) return kept.files.get();
  }
  return nullptr;
}

}  // namespace sluice::server
