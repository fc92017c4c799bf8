#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/decision.h>
#include <sluice/limit.h>
#include <sluice/time.h>

#include "base/key.h"

namespace sluice::api {

/// What a call took from one limit: enough to correct it later, whatever the rules say then.
struct TakenLimit {
  std::string scope, tag, rest;  ///< The parts of its key.
  Limit limit;
  Receipt receipt;
  bool measured = false;  ///< Its real cost is known only later; see SettledBy.
  bool leased = false;    ///< Its rule leases.
};

/// Writes what a call took as a text that clients keep and bring back, and reads it again. Nobody
/// without the secret can make or change one. The server remembers none of them: a text that is
/// brought twice counts twice.
class ReceiptSigner {
 public:
  static constexpr auto kGoodFor = std::chrono::hours(24);

  /// An empty secret: one that this process chose.
  explicit ReceiptSigner(std::string_view secret);

  /// Collects what a call took, limit by limit.
  void Begin(WallTime now);
  /// What is to be known of a limit beside what was taken; see TakenLimit.
  struct Facts {
    bool measured = false;
    bool leased = false;
  };
  /// False: the limit's numbers can't be written down (and nothing was added).
  bool Add(const Key& key, const Limit& limit, const Receipt& receipt, Facts facts);
  [[nodiscard]] bool empty() const { return count_ == 0; }
  /// Appends the text: base64url.
  void Finish(std::string& out);

  /// Nothing if the text is damaged, forged, or older than kGoodFor.
  [[nodiscard]] std::optional<std::vector<TakenLimit>> Read(std::string_view text,
                                                            WallTime now) const;

 private:
  static constexpr std::size_t kTagBytes = 16;

  [[nodiscard]] std::string TagOf(std::string_view bytes) const;

  std::string secret_;
  std::string bytes_;
  std::size_t count_ = 0;
};

/// Whether a settlement is about the limit: those whose cost is measured, such as tokens; if there
/// is none of them, all.
[[nodiscard]] bool SettledBy(const std::vector<TakenLimit>& taken, const TakenLimit& limit);

}  // namespace sluice::api
