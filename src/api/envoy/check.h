#pragma once

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

#include "api/envoy/request.h"
#include "api/envoy/state.h"
#include "api/grpc/call.h"
#include "api/server_services.h"
#include "base/header_sink.h"
#include "limiter/check_request.h"
#include "match/rule_set.h"

namespace sluice::api {

/// The codes of RateLimitResponse.
enum class EnvoyCode : std::uint8_t { kUnknown = 0, kOk = 1, kOverLimit = 2 };

/// The status of one descriptor in the response.
struct EnvoyStatus {
  EnvoyCode code = EnvoyCode::kOk;
  bool has_limit = false;  ///< Else the next four mean nothing.
  std::uint32_t requests_per_unit = 0;
  envoy::Unit unit = envoy::Unit::kUnknown;
  std::string_view name{};
  std::int64_t reset_seconds = 0;
  std::uint32_t remaining = 0;
};

/// Headers of an answer, one after the other.
class EnvoyHeaders final : public HeaderSink {
 public:
  EnvoyHeaders& Add(std::string_view name, std::string_view value) override;
  EnvoyHeaders& Add(std::string_view name, std::int64_t value) override;

  void Clear();
  [[nodiscard]] std::size_t size() const { return pieces_.size(); }
  [[nodiscard]] std::string_view name(std::size_t i) const;
  [[nodiscard]] std::string_view value(std::size_t i) const;

 private:
  struct Piece {
    std::size_t begin, name_size, value_size;
  };

  std::string bytes_;
  std::vector<Piece> pieces_;
};

/// One RateLimitRequest on its way: what limits its descriptors meet, what is asked about them, and
/// what is answered. Made once and used for many: after the first few it allocates nothing.
///
///     if (!ReadEnvoyRequest(message, check.request)) …
///     const std::string_view error = check.Match(state, services, peer, protocol);
///     if (check.has_check()) check.FillCheck(call.Add().check);    // and once it is answered:
///     if (check.has_refund()) check.FillRefund(call.Add().check);  // check.TakeNote(check)
///     … check.code(), check.StatusOf(i)
class EnvoyCheck final : public GrpcScratch {
 public:
  EnvoyRequest request;

  void Clear() override;
  [[nodiscard]] bool is_large() const override;

  /// Finds the limits of a request that came over `protocol`. Not empty: what is wrong with it.
  std::string_view Match(EnvoyState& state, ServerServices& services, const Peer& peer,
                         Protocol protocol);

  /// Whether there is something to be asked.
  [[nodiscard]] bool has_check() const { return !is_denied_ && checks_ > 0; }
  [[nodiscard]] bool has_refund() const { return refunds_ > 0; }
  /// Whether a descriptor is denied without a limit: by a list or a live entry, or because no rule
  /// is matched.
  [[nodiscard]] bool is_denied() const { return is_denied_; }
  /// The outcome of a call for which no limit is evaluated.
  [[nodiscard]] CallOutcome outcome_without_limits() const {
    return is_denied_ ? CallOutcome::kBlocked : CallOutcome::kUnlimited;
  }
  void FillCheck(limiter::CheckRequest& check);
  void FillRefund(limiter::CheckRequest& check);

  /// Notes what a check was answered, as long as that is there.
  void TakeNote(const limiter::CheckRequest& check);

  // ---- The answer, once all checks are answered.

  /// Not empty: there is no answer but this.
  [[nodiscard]] std::string_view error() const { return error_; }
  [[nodiscard]] EnvoyCode code() const;
  [[nodiscard]] std::size_t size() const { return rows_.size(); }
  [[nodiscard]] EnvoyStatus StatusOf(std::size_t descriptor) const;
  /// Makes the headers that the options request; `check` is the check of FillCheck, or null.
  const EnvoyHeaders& MakeHeaders(const limiter::CheckRequest* check);
  /// A google.protobuf.Struct, as bytes, that the descriptor's limit has for callers within it.
  [[nodiscard]] std::string_view MetadataOf(std::size_t descriptor) const;

 private:
  enum class Kind : std::uint8_t {
    kNone,  ///< Matches no limit.
    kUnlimited,
    kDenied,  ///< Without a limit: by a list or a live entry, or because no rule is matched.
    kChecked,
    kGivenBack,
  };
  /// The match of one descriptor.
  struct Row {
    Kind kind = Kind::kNone;
    const envoy::Node* node = nullptr;  ///< Null: another's limit.
    std::optional<Limit> own{};         ///< The request's own.
    EnvoyOverride own_numbers{};
    std::int64_t hits = 1;
    std::size_t first_use = 0;  ///< Of its check.
    std::size_t uses = 0;
    std::size_t first_entry = 0;  ///< The live entries of its call, in `entries_`.
    std::size_t end_entry = 0;
    Micros block_rest{0};  ///< kDenied by a block: until it ends; negative: never.
    // Once it is answered, of the use that has most to say:
    match::MatchedLimit matched{};
    const Limit* limit = nullptr;
    Verdict verdict{};
    bool over = false;  ///< And not only in shadow.
  };

  std::string_view MatchConfig(EnvoyState& state, const envoy::Domain& domain);
  std::string_view MatchOverride(EnvoyState& state, const envoy::Domain& domain, std::size_t at);
  std::string_view MatchRules(ServerServices& services, const Peer& peer);
  std::string_view MatchRule(ServerServices& services, const Peer& peer, std::size_t at);
  void DropReplaced();
  void AddEndOfBlock();
  void FindEntries(std::size_t at, match::Attributes attributes);
  void FindEntriesByDescriptors();
  /// Decides rows by blocks and exemptions.
  void ApplyEntries(Row& row, std::size_t at);
  [[nodiscard]] match::FoundEntries EntriesOf(const Row& row) const {
    return match::FoundEntries(entries_).subspan(row.first_entry, row.end_entry - row.first_entry);
  }
  /// Adds a limit to the check as the row's live entries change it.
  void AddAdjusted(const Row& row, const match::EntryTarget& target, match::MatchedLimit matched,
                   limiter::Terms terms, limiter::CheckRequest& check);
  void Fill(Kind kind, limiter::CheckRequest& check);
  void AddUses(Row& row, std::size_t at, limiter::CheckRequest& check);
  void NoteRow(Row& row, const limiter::CheckRequest& check) const;
  [[nodiscard]] std::int64_t ResetOf(const Row& row) const;

  EnvoyState* state_ = nullptr;
  Snapshot<envoy::Config> config_;
  Snapshot<match::RuleSet> rules_;  ///< Set: they decide, not the configuration.
  ServerServices* services_ = nullptr;
  WallTime now_{};
  bool is_denied_ = false;  ///< Some row is kDenied.
  bool is_over_ = false;
  std::size_t checks_ = 0;
  std::size_t refunds_ = 0;
  std::string_view error_;
  std::vector<Row> rows_;
  std::vector<envoy::FoundKey> keys_;
  /// By rules: what is known of each descriptor's call, and what it meets.
  std::vector<std::unique_ptr<limiter::CheckRequest>> callers_;
  std::vector<std::unique_ptr<match::Match>> matches_;
  std::vector<const match::LiveEntry*> entries_;  ///< Of all rows.
  AnySnapshot entry_set_;                         ///< Owns them.
  std::vector<Attribute> attributes_;
  EnvoyHeaders headers_;
};

}  // namespace sluice::api
