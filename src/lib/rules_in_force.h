#pragma once

#include <memory>

#include <sluice/rules.h>

#include "base/file_watcher.h"
#include "limiter/check_request.h"
#include "match/load_rules.h"

namespace sluice {

struct Rules::Impl {
  static constexpr std::size_t kVersionsKept = 10;

  Live<match::RuleSet> live{kVersionsKept};
  std::unique_ptr<WatchThread> watch;  ///< Destroyed before the rules.
};

/// Per-thread state of a Rules object.
struct RulesOfThread {
  /// Returns the state of the calling thread. It shares ownership of `owner` until it is evicted
  /// after a while without use.
  template <typename Owner>
  static RulesOfThread& For(const Live<match::RuleSet>& live, const std::shared_ptr<Owner>& owner) {
    RulesOfThread* const known = Find(live);
    return known != nullptr ? *known : Add(live, owner);
  }

  std::shared_ptr<const void> owner;
  const Live<match::RuleSet>* live;
  LiveReader<match::RuleSet> reader;
  limiter::CheckRequest check{};

 private:
  static RulesOfThread* Find(const Live<match::RuleSet>& live);
  static RulesOfThread& Add(const Live<match::RuleSet>& live, std::shared_ptr<const void> owner);
};

}  // namespace sluice
