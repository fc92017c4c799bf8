#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/decision.h>
#include <sluice/limit.h>
#include <sluice/time.h>

#include "base/key.h"

struct evp_mac_ctx_st;

namespace sluice::api {

/// The amount that a call took from one limit, with all that a later correction needs, even if the
/// rules have changed.
struct TakenLimit {
  std::string scope, tag, rest;  ///< The parts of its key.
  Limit limit;
  Receipt receipt;
  bool measured = false;  ///< Its real cost is known only later; see SettledBy.
  /// Maximum charge of a settlement.
  std::int64_t max_settlement = kMaxAmount;
  std::uint64_t id = 0;  ///< Unique among what was taken from the key.
};

/// The content of a receipt.
struct ReceiptContents {
  WallTime expires{};
  std::vector<TakenLimit> taken;
};

/// Writes what a call took as a text that clients keep and bring back, and reads it again. Without
/// the secret it can be neither made nor changed. The signer remembers none of them: each has an
/// id, by which stores know what was settled before.
///
/// For one thread.
class ReceiptSigner {
 public:
  /// An empty secret: one that this process chose. `lifetime`: of a receipt.
  ReceiptSigner(std::string_view secret, Micros lifetime);
  ~ReceiptSigner();
  ReceiptSigner(const ReceiptSigner&) = delete;
  ReceiptSigner& operator=(const ReceiptSigner&) = delete;

  /// Collects what a call took, limit by limit.
  void Begin(WallTime now);
  /// Properties of a limit in addition to the amount; see TakenLimit.
  struct Facts {
    bool measured = false;
    std::int64_t max_settlement = kMaxAmount;
  };
  void Add(const Key& key, const Limit& limit, const Receipt& receipt, Facts facts);
  [[nodiscard]] bool empty() const { return count_ == 0; }
  /// Appends the text: base64url.
  void Finish(std::string& out);

  /// Nothing if the text is damaged or forged. Whether it has expired is up to the caller.
  [[nodiscard]] std::optional<ReceiptContents> Read(std::string_view text) const;

 private:
  static constexpr std::size_t kTagBytes = 16;
  using Tag = std::array<char, kTagBytes>;

  struct Free {
    void operator()(evp_mac_ctx_st* context) const;
  };

  [[nodiscard]] Tag TagOf(std::string_view bytes) const;

  /// HMAC-SHA256 with the key in place: preparing it takes longer than signing.
  std::unique_ptr<evp_mac_ctx_st, Free> mac_;
  const Micros lifetime_;
  std::uint64_t next_id_;  ///< Counts up from a random number: unique, but not secret.
  std::string bytes_;
  std::size_t count_ = 0;
};

/// Whether a settlement is about the limit: those whose cost is measured, such as tokens; if there
/// is none of them, all.
[[nodiscard]] bool SettledBy(const std::vector<TakenLimit>& taken, const TakenLimit& limit);

}  // namespace sluice::api
