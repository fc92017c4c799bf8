#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <sluice/time.h>

#include "base/text_hash.h"
#include "identity/access_token.h"
#include "identity/principal.h"

namespace sluice::identity {

/// When tokens were last used on this node, to the minute. Outlives the sets of tokens, which are
/// replaced. Thread-safe.
class TokenUses {
 public:
  using Time = std::atomic<WallTime>;

  /// Returns the time of a token's last use; WallTime{}: never. It is kept while a set has it.
  [[nodiscard]] std::shared_ptr<Time> Of(const std::string& id);
  /// Drops the times that no set has.
  void ForgetUnused();

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::weak_ptr<Time>> times_;
};

/// The tokens that are in force. Immutable, but for the times of their use: any thread may use it.
class TokenSet {
 public:
  TokenSet() = default;
  TokenSet(std::vector<AccessToken> tokens, TokenUses& uses);

  /// Returns the principal of a token that a client shows; null: there is no such token, or it has
  /// expired. Takes the same time for a wrong secret as for an unknown id.
  [[nodiscard]] PrincipalPointer Find(std::string_view text, WallTime now) const;
  /// Returns the principal of a token that was shown before; null: it was revoked, or has expired.
  [[nodiscard]] PrincipalPointer FindById(std::string_view id, WallTime now) const;
  /// Returns when a token was last used on this node; nothing: never.
  [[nodiscard]] std::optional<WallTime> LastUse(std::string_view id) const;

  [[nodiscard]] std::size_t size() const { return tokens_.size(); }

 private:
  struct Entry {
    std::string hash;
    PrincipalPointer principal;
    std::shared_ptr<TokenUses::Time> last_use;
  };

  struct IdHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view id) const { return HashText(id); }
  };

  std::unordered_map<std::string, Entry, IdHash, std::equal_to<>> tokens_;  ///< By id.
};

}  // namespace sluice::identity
