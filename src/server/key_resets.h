#pragma once

#include <cstddef>
#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <sluice/limit.h>
#include <sluice/result.h>
#include <sluice/time.h>

#include "base/owned_key.h"
#include "limiter/limiter.h"

namespace sluice::server {

struct KeyToReset {
  OwnedKey key;
  Limit limit;  ///< Of its rule; for a limit that a request brought, any.
  bool of_rule = true;
};

/// Resets of some keys, on the thread of one event loop, in the way of a client's reset: remembered
/// denials and leases learn of them. Made by any thread; owns itself until all are answered.
class KeyResets : public std::enable_shared_from_this<KeyResets> {
 public:
  explicit KeyResets(const std::vector<KeyToReset>& keys);

  /// How many keys had something to forget, or why some were not reset.
  [[nodiscard]] std::future<Result<std::size_t>> outcome() { return outcome_.get_future(); }

  /// On the loop's thread, once.
  void Run(limiter::Limiter& limiter, WallTime now);

 private:
  void Take(const limiter::CheckRequest& check);
  void Done();

  std::deque<limiter::CheckRequest> checks_;
  std::size_t undone_ = 0;
  std::size_t affected_ = 0;
  std::optional<ErrorCode> error_;
  std::promise<Result<std::size_t>> outcome_;
  std::shared_ptr<KeyResets> self_;
};

}  // namespace sluice::server
