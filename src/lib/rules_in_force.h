#pragma once

#include <memory>

#include <sluice/rules.h>

#include "limiter/question.h"
#include "rules/file_watcher.h"
#include "rules/live_rules.h"

namespace sluice {

struct Rules::Impl {
  rules::LiveRules live;
  std::unique_ptr<rules::WatchThread> watch;  ///< Ends before the rules do.
};

/// What a thread keeps for the rules that it checks by.
struct RulesOfThread {
  /// Of the calling thread. Rules that it has not used for a while are let go; until then it shares
  /// in them as their `owner` does.
  template <typename Owner>
  static RulesOfThread& For(const rules::LiveRules& live, const std::shared_ptr<Owner>& owner) {
    RulesOfThread* const known = Find(live);
    return known != nullptr ? *known : Add(live, owner);
  }

  std::shared_ptr<const void> owner;
  const rules::LiveRules* live;
  rules::RulesReader reader;
  limiter::Question question{};

 private:
  static RulesOfThread* Find(const rules::LiveRules& live);
  static RulesOfThread& Add(const rules::LiveRules& live, std::shared_ptr<const void> owner);
};

}  // namespace sluice
