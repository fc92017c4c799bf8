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

/// Appends a key's name in Redis: "sluice:v1:{<tag>}:<scope>:<rest>".
void AppendRedisKey(const Key& key, std::string& out);

/// Appends the name of the key with the settled receipts, in the same slot.
void AppendMarksKey(const Key& key, std::string& out);

/// The command that runs the script.
enum class ScriptForm : std::uint8_t {
  kSha,   ///< EVALSHA
  kText,  ///< EVAL: Redis caches the script.
};

/// The first phase of a kCheck with keys in several locations: a kPeek that also records, like a
/// kCheck, that the clock was set back. Only used between the Redis store and its script.
inline constexpr Operation kPeekBeforeTake{0xFF};

/// Appends the command that runs all these calls. `now` replaces Redis' clock in tests.
void AppendRequest(std::span<StoreCall* const> calls, ScriptForm by, std::optional<WallTime> now,
                   std::string& out);

/// Sets the calls' results from the reply. Returns the number of calls that ran: the others did
/// not, because the script had done its maximum of work. Returns 0, with unspecified results, if
/// the reply is not the script's.
std::size_t ReadAnswers(resp::Value reply, std::span<StoreCall* const> calls);

/// Returns the estimated work of the script for a call: 1 is the check of one bucket.
std::size_t WorkOf(const StoreCall& call);
/// Returns the estimate for one use in the worst case.
std::size_t MostWorkOf(const KeyUse& use);

}  // namespace sluice::store
