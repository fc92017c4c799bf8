#pragma once

#include <cstddef>
#include <string>

#include "base/key.h"

namespace sluice {

/// A key with its own copy of the bytes. Assigned again, it allocates only for longer keys.
class OwnedKey {
 public:
  OwnedKey() = default;
  explicit OwnedKey(const Key& key) { *this = key; }

  OwnedKey& operator=(const Key& key) {
    text_.assign(key.scope).append(key.tag).append(key.rest);
    scope_size_ = key.scope.size();
    tag_size_ = key.tag.size();
    return *this;
  }

  /// Valid until the key changes or moves.
  [[nodiscard]] Key view() const {
    const std::string_view all = text_;
    return {.scope = all.substr(0, scope_size_),
            .tag = all.substr(scope_size_, tag_size_),
            .rest = all.substr(scope_size_ + tag_size_)};
  }

 private:
  std::string text_;  ///< The three parts.
  std::size_t scope_size_ = 0;
  std::size_t tag_size_ = 0;
};

}  // namespace sluice
