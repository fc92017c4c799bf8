#pragma once

#include <ostream>
#include <string>
#include <utility>

namespace sluice::redis {

/// A password that can't be printed by accident.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}

  [[nodiscard]] bool empty() const { return text_.empty(); }
  /// For the wire only.
  [[nodiscard]] const std::string& Reveal() const { return text_; }

  friend bool operator==(const Secret&, const Secret&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Secret& secret) {
    return out << (secret.empty() ? "" : "***");
  }

 private:
  std::string text_;
};

}  // namespace sluice::redis
