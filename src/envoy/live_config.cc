#include "envoy/live_config.h"

#include <utility>

#include "rules/fingerprint.h"

namespace sluice::envoy {
namespace {

std::string FingerprintOf(std::span<const SourceFile> files) {
  std::string all;
  for (const SourceFile& file : files) {
    // With their sizes, so that no other files give the same.
    all += std::to_string(file.name.size()) + ':' + file.name + ' ';
    all += std::to_string(file.text.size()) + ':' + file.text + '\n';
  }
  return rules::Fingerprint(all);
}

}  // namespace

rules::LoadReport LiveConfig::Load(std::span<const SourceFile> files, WallTime now) {
  const std::lock_guard loading(loading_);
  std::string fingerprint = FingerprintOf(files);
  {
    const std::lock_guard lock(mutex_);
    if (active_ && status_.fingerprint == fingerprint) {
      status_.last_good_load = now;
      status_.failing = false;
      ++status_.good_loads;
      return {.outcome = rules::LoadOutcome::kUnchanged,
              .version = status_.version,
              .mistakes = {},
              .warnings = {}};
    }
  }
  ReadResult read = Read(files, options_);
  if (!read.config) return Refuse(std::move(read.mistakes), now);
  std::shared_ptr<const Config> old;  // Destroyed, if need be, after the lock is given back.
  const std::lock_guard lock(mutex_);
  old = std::exchange(active_, std::move(read.config));
  ++status_.version;
  status_.fingerprint = std::move(fingerprint);
  status_.since = now;
  status_.domains = active_->domains().size();
  status_.limits = active_->nodes().size();
  status_.last_good_load = now;
  status_.failing = false;
  ++status_.good_loads;
  // Release: whoever sees the number also finds the configuration. They look under the lock anyway.
  generation_.store(status_.version, std::memory_order_release);
  return {.outcome = rules::LoadOutcome::kActivated,
          .version = status_.version,
          .mistakes = {},
          .warnings = std::move(read.warnings)};
}

rules::LoadReport LiveConfig::Load(const rules::FileChange& change, WallTime now) {
  if (change.content) {
    std::vector<SourceFile> files;
    for (const rules::FoundFile& file : change.files) {
      files.push_back({.name = file.path, .text = file.content});
    }
    return Load(files, now);
  }
  const std::lock_guard loading(loading_);
  return Refuse({{.file = change.path, .position = {}, .field = {}, .message = change.error}}, now);
}

rules::LoadReport LiveConfig::Refuse(std::vector<rules::Mistake> mistakes, WallTime now) {
  const std::lock_guard lock(mutex_);
  status_.last_error = mistakes;
  status_.last_error_at = now;
  status_.failing = true;
  ++status_.failed_loads;
  return {.outcome = rules::LoadOutcome::kRefused,
          .version = status_.version,
          .mistakes = std::move(mistakes),
          .warnings = {}};
}

ConfigStatus LiveConfig::Status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

std::shared_ptr<const Config> LiveConfig::Active() const {
  const std::lock_guard lock(mutex_);
  return active_;
}

void ConfigReader::Refresh() {
  std::shared_ptr<const Config> old;  // Destroyed, if need be, after the lock is given back.
  const std::lock_guard lock(live_->mutex_);
  old = std::exchange(config_, live_->active_);
  generation_ = live_->status_.version;
}

}  // namespace sluice::envoy
