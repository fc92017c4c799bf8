#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "envoy/config.h"
#include "rules/mistake.h"

namespace sluice::envoy {

struct SourceFile {
  std::string name;  ///< For messages.
  std::string text;
};

struct ReadOptions {
  /// Several files may describe one domain; else that is a mistake.
  bool merge_domains = false;
  /// Looks at each rule that was found right, and may number its limit.
  std::function<void(rules::Rule&)> prepare;
};

struct ReadResult {
  std::shared_ptr<const Config> config;  ///< Set if there are no mistakes.
  std::vector<rules::Mistake> mistakes;  ///< All of them, in the order of the files.
  std::vector<rules::Mistake> warnings;  ///< What works, but is hardly meant.
};

/// Reads the files of envoyproxy/ratelimit, as docs/envoy.md describes them.
ReadResult Read(std::span<const SourceFile> files, const ReadOptions& options = {});

}  // namespace sluice::envoy
