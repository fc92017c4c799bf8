#include "server/key_resets.h"

#include <algorithm>
#include <array>
#include <string>

namespace sluice::server {

KeyResets::KeyResets(const std::vector<KeyToReset>& keys) {
  for (const KeyToReset& one : keys) {
    limiter::CheckRequest& check = checks_.emplace_back();
    check.Clear();
    check.operation = store::Operation::kReset;
    check.AddLimit(one.key.view(), one.limit, 0);
    if (one.of_rule) check.SetOfRule();
    check.context = this;
    check.on_done = [](limiter::CheckRequest& done, void* context) {
      static_cast<KeyResets*>(context)->Take(done);
    };
  }
}

void KeyResets::Run(limiter::Limiter& limiter, WallTime now) {
  self_ = shared_from_this();
  undone_ = checks_.size() + 1;  // One for this function.
  for (std::size_t begin = 0; begin < checks_.size(); begin += limiter::Limiter::kMostAtOnce) {
    std::array<limiter::CheckRequest*, limiter::Limiter::kMostAtOnce> batch;
    const std::size_t count = std::min(checks_.size() - begin, batch.size());
    for (std::size_t i = 0; i < count; ++i) batch[i] = &checks_[begin + i];
    limiter.DecideBatch({batch.data(), count}, now);
    for (std::size_t i = 0; i < count; ++i) {
      if (!batch[i]->pending()) Take(*batch[i]);
    }
  }
  Done();
}

void KeyResets::Take(const limiter::CheckRequest& check) {
  if (check.ruling == Ruling::kDecided) {
    affected_ += check.affected;
  } else {
    error_ = check.error;
  }
  Done();
}

void KeyResets::Done() {
  if (--undone_ > 0) return;
  const auto self = std::exchange(self_, nullptr);
  if (error_) {
    outcome_.set_value(
        Error{*error_, std::string("the reset of a key failed: ") + ErrorName(*error_)});
  } else {
    outcome_.set_value(affected_);
  }
}

}  // namespace sluice::server
