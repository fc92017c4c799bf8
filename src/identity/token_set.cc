#include "identity/token_set.h"

#include <chrono>
#include <utility>

#include <openssl/crypto.h>

#include "identity/key_digest.h"

namespace sluice::identity {
namespace {

constexpr Micros kUsePrecision = std::chrono::minutes(1);
// Longer texts are no tokens of ours, and are not hashed.
constexpr std::size_t kLongestToken = 256;

}  // namespace

std::shared_ptr<TokenUses::Time> TokenUses::Of(const std::string& id) {
  const std::lock_guard lock(mutex_);
  std::weak_ptr<Time>& kept = times_[id];
  std::shared_ptr<Time> time = kept.lock();
  if (time == nullptr) {
    time = std::make_shared<Time>(WallTime{});
    kept = time;
  }
  return time;
}

void TokenUses::ForgetUnused() {
  const std::lock_guard lock(mutex_);
  std::erase_if(times_, [](const auto& entry) { return entry.second.expired(); });
}

TokenSet::TokenSet(std::vector<AccessToken> tokens, TokenUses& uses) {
  tokens_.reserve(tokens.size());
  for (AccessToken& token : tokens) {
    auto principal =
        std::make_shared<const Principal>(Principal{.name = token.name,
                                                    .role = token.role,
                                                    .scope = std::move(token.scope),
                                                    .authentication = Authentication::kToken,
                                                    .token_id = token.id,
                                                    .expires_at = token.expires_at});
    auto last_use = uses.Of(token.id);
    tokens_.try_emplace(std::move(token.id), Entry{.hash = std::move(token.hash),
                                                   .principal = std::move(principal),
                                                   .last_use = std::move(last_use)});
  }
  uses.ForgetUnused();
}

PrincipalPointer TokenSet::Find(std::string_view text, WallTime now) const {
  if (text.size() > kLongestToken || tokens_.empty()) return nullptr;
  const std::string_view id = TokenIdOf(text);
  if (id.empty()) return nullptr;
  const auto found = tokens_.find(id);
  // The hash of a token that is not there is compared with that of another.
  const Entry& entry = found != tokens_.end() ? found->second : tokens_.begin()->second;
  KeyDigest::Buffer room;
  const std::string_view hash = KeyDigest()(text, room);
  const bool is_right = hash.size() == entry.hash.size() &&
                        CRYPTO_memcmp(hash.data(), entry.hash.data(), hash.size()) == 0;
  if (!is_right || found == tokens_.end() || now >= entry.principal->expires_at) return nullptr;
  // Relaxed: it guards nothing. Written rarely, so that threads don't compete for it.
  if (now - entry.last_use->load(std::memory_order_relaxed) >= kUsePrecision) {
    entry.last_use->store(now, std::memory_order_relaxed);
  }
  return entry.principal;
}

PrincipalPointer TokenSet::FindById(std::string_view id, WallTime now) const {
  const auto found = tokens_.find(id);
  if (found == tokens_.end() || now >= found->second.principal->expires_at) return nullptr;
  return found->second.principal;
}

std::optional<WallTime> TokenSet::LastUse(std::string_view id) const {
  const auto found = tokens_.find(id);
  if (found == tokens_.end()) return std::nullopt;
  const WallTime time = found->second.last_use->load(std::memory_order_relaxed);
  return time == WallTime{} ? std::nullopt : std::optional(time);
}

}  // namespace sluice::identity
