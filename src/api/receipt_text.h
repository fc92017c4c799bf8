#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/decision.h>
#include <sluice/limit.h>
#include <sluice/rules.h>
#include <sluice/time.h>

#include "base/key.h"
#include "limiter/settlement.h"
#include "rules/count.h"
#include "store/store.h"

struct evp_mac_ctx_st;

namespace sluice::api {

using limiter::OwnedQuantity;
using limiter::ReceiptContents;
using limiter::TakenLimit;

/// The settings of receipts, the same for all protocols.
struct ReceiptOptions {
  /// Signs them; the same in all processes that share a store. Empty: one of this process.
  std::string secret{};
  Micros lifetime = std::chrono::hours(1);
  /// Settled receipts that a key remembers, until they expire; past it, settlements fail.
  std::uint32_t max_settled_per_key = store::Settlement::kMaxPerKey;
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
  /// The same for a call with quantities.
  void Begin(WallTime now, std::span<const UsedQuantity> used);
  /// Properties of a limit in addition to the amount; see TakenLimit. The last three are for calls
  /// with quantities.
  struct Facts {
    bool measured = false;
    std::int64_t max_settlement = kMaxAmount;
    std::int64_t scale = 1;
    bool shadow = false;
    const rules::Count* count = nullptr;
  };
  void Add(const Key& key, const Limit& limit, const Receipt& receipt, Facts facts);
  [[nodiscard]] bool empty() const { return count_ == 0; }
  /// Appends the text: base64url.
  void Finish(std::string& out);

  /// Appends the text of a receipt as it is.
  void Append(const ReceiptContents& contents, std::string& out);
  [[nodiscard]] Micros lifetime() const { return lifetime_; }
  /// Whether so little is left of a receipt's life that it should be replaced.
  [[nodiscard]] bool NeedsSuccessor(const ReceiptContents& contents, WallTime now) const {
    return contents.expires - now < lifetime_ / 2;
  }

  /// Nothing if the text is damaged or forged. Whether it has expired is up to the caller.
  [[nodiscard]] std::optional<ReceiptContents> Read(std::string_view text) const;

 private:
  static constexpr std::size_t kTagBytes = 16;
  using Tag = std::array<char, kTagBytes>;

  struct Free {
    void operator()(evp_mac_ctx_st* context) const;
  };

  void BeginAt(char format, WallTime expires, std::uint64_t first_id);
  void AppendQuantities(std::span<const UsedQuantity> used);
  void AppendCount(const rules::Count& count);

  [[nodiscard]] Tag TagOf(std::string_view bytes) const;

  /// HMAC-SHA256 with the key in place: preparing it takes longer than signing.
  std::unique_ptr<evp_mac_ctx_st, Free> mac_;
  const Micros lifetime_;
  std::uint64_t next_id_;  ///< Counts up from a random number: unique, but not secret.
  std::string bytes_;
  std::vector<UsedQuantity> used_;  ///< Of the receipt that is being written.
  bool is_by_quantity_ = false;
  std::size_t count_ = 0;
};

}  // namespace sluice::api
