#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "resp/value.h"
#include "store/store.h"

/// The messages between the Redis store and its script: see scripts/README.md.
namespace sluice::store {

/// A key as it stands in Redis: "sluice:v1:{<tag>}:<scope>:<rest>".
void AppendRedisKey(const Key& key, std::string& out);

/// Where the settled receipts of a key stand in Redis: in the same slot.
void AppendMarksKey(const Key& key, std::string& out);

/// How the script is called.
enum class ScriptForm : std::uint8_t {
  kSha,   ///< EVALSHA
  kText,  ///< EVAL: Redis keeps the script from then on.
};

/// The first half of a kCheck whose keys are in several places: says what a kPeek says, and notes,
/// as a kCheck does, if the clock was set back. Only between the Redis store and its script.
inline constexpr Operation kLookBeforeTake{0xFF};

/// Appends the command that runs all these calls. `now`: the time to evaluate by, instead of
/// Redis' own; for tests.
void AppendRequest(std::span<StoreCall* const> calls, ScriptForm by, std::optional<WallTime> now,
                   std::string& out);

/// Fills in the calls' answers from the script's. Returns how many of the calls are answered: the
/// others did not run, because the script had done enough. 0 (and nothing promised of the calls) if
/// the reply is not one of the script's.
std::size_t ReadAnswers(resp::Value reply, std::span<StoreCall* const> calls);

/// About how much the script has to do for a call: 1 is a check of a bucket among many.
std::size_t WorkOf(const StoreCall& call);
/// The same of one use, if it turns out not to be plain.
std::size_t MostWorkOf(const KeyUse& use);

}  // namespace sluice::store
