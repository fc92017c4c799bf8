#pragma once

#include <cstddef>
#include <string>

#include "remote.h"

/// Commands that show what a server knows about recent calls. They return exit codes: 0, or 1 after
/// an error.
namespace sluice::app {

struct TopOptions {
  RemoteOptions remote{};
  std::string by = "denied";
  std::string window = "10m";
  std::string rule{};
  std::size_t limit = 10;
  bool cluster = false;
};
int ShowTop(const TopOptions& options);

struct TailOptions {
  RemoteOptions remote{};
  std::string rule{};
  std::string key{};
  std::size_t last = 10;
  bool no_follow = false;
};
int TailDenials(const TailOptions& options);

struct WhyOptions {
  RemoteOptions remote{};
  std::string id{};
};
int ExplainDenial(const WhyOptions& options);

}  // namespace sluice::app
