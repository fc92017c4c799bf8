#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/watched_files.h"
#include "config_text/diagnostic.h"
#include "envoy/config.h"

namespace sluice::envoy {

struct ReadOptions {
  /// Several files may describe one domain; otherwise an error.
  bool merge_domains = false;
  /// Called with each valid rule; may set the number of its limit.
  std::function<void(rules::Rule&)> prepare{};
};

struct ReadResult {
  std::shared_ptr<const Config> config;           ///< Set if there are no errors.
  std::vector<config_text::Diagnostic> errors;    ///< All of them, in the order of the files.
  std::vector<config_text::Diagnostic> warnings;  ///< Valid, but probably not intended.
};

/// Reads the files of envoyproxy/ratelimit, as docs/envoy.md describes them.
ReadResult Read(std::span<const FileContent> files, const ReadOptions& options = {});

}  // namespace sluice::envoy
