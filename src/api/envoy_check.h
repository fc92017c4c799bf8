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

#include "api/envoy_desk.h"
#include "api/envoy_request.h"
#include "api/grpc_call.h"
#include "api/host.h"
#include "base/header_sink.h"
#include "limiter/question.h"
#include "rules/rule_set.h"

namespace sluice::api {

/// The codes of RateLimitResponse.
enum class EnvoyCode : std::uint8_t { kUnknown = 0, kOk = 1, kOverLimit = 2 };

/// What one descriptor is answered.
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
///     const std::string_view mistake = check.Meet(desk, host, peer);
///     if (check.has_check()) check.FillCheck(call.Add().question);    // and once it is answered:
///     if (check.has_refund()) check.FillRefund(call.Add().question);  // check.TakeNote(question)
///     … check.code(), check.StatusOf(i)
class EnvoyCheck final : public GrpcScratch {
 public:
  EnvoyRequest request;

  [[nodiscard]] bool is_large() const override;

  /// Finds the limits of the request. Not empty: what is wrong with it.
  std::string_view Meet(EnvoyDesk& desk, Host& host, const Peer& peer);

  /// Whether there is something to be asked.
  [[nodiscard]] bool has_check() const { return !is_denied_ && checks_ > 0; }
  [[nodiscard]] bool has_refund() const { return refunds_ > 0; }
  void FillCheck(limiter::Question& question);
  void FillRefund(limiter::Question& question);
  /// What keeps the limits alive that were met; for calls of several questions.
  [[nodiscard]] std::shared_ptr<const void> Hold() const;

  /// Notes what a question was answered, as long as that is there.
  void TakeNote(const limiter::Question& question);

  // ---- The answer, once all questions are answered.

  /// Not empty: there is no answer but this.
  [[nodiscard]] std::string_view error() const { return error_; }
  [[nodiscard]] EnvoyCode code() const;
  [[nodiscard]] std::size_t size() const { return rows_.size(); }
  [[nodiscard]] EnvoyStatus StatusOf(std::size_t descriptor) const;
  /// What the options say; `check` is the question of FillCheck, or null.
  const EnvoyHeaders& MakeHeaders(const limiter::Question* check);
  /// A google.protobuf.Struct, as bytes, that the descriptor's limit has for callers within it.
  [[nodiscard]] std::string_view MetadataOf(std::size_t descriptor) const;

 private:
  enum class Kind : std::uint8_t {
    kNone,  ///< Meets no limit.
    kUnlimited,
    kDenied,  ///< Without a limit: by a list, or because no rule is met.
    kChecked,
    kGivenBack,
  };
  /// What became of one descriptor.
  struct Row {
    Kind kind = Kind::kNone;
    const envoy::Node* node = nullptr;  ///< Null: another's limit.
    std::optional<Limit> own{};         ///< The request's own.
    EnvoyOverride own_numbers{};
    std::int64_t hits = 1;
    std::size_t first_use = 0;  ///< Of its question.
    std::size_t uses = 0;
    // Once it is answered, of the use that has most to say:
    rules::MetLimit told{};
    const Limit* limit = nullptr;
    Verdict verdict{};
    bool over = false;  ///< And not only in shadow.
  };

  std::string_view MeetConfig(EnvoyDesk& desk, const envoy::Domain& domain);
  std::string_view MeetOverride(EnvoyDesk& desk, const envoy::Domain& domain, std::size_t at);
  std::string_view MeetRules(Host& host, const Peer& peer);
  std::string_view MeetRule(Host& host, const Peer& peer, std::size_t at);
  void DropReplaced();
  void Fill(Kind kind, limiter::Question& question);
  void AddUses(Row& row, std::size_t at, limiter::Question& question);
  void NoteRow(Row& row, const limiter::Question& question) const;
  [[nodiscard]] std::int64_t ResetOf(const Row& row) const;

  EnvoyDesk* desk_ = nullptr;
  const envoy::Config* config_ = nullptr;
  const rules::RuleSet* rules_ = nullptr;  ///< Set: they judge, not the configuration.
  Host* host_ = nullptr;
  WallTime now_{};
  bool is_denied_ = false;  ///< Some row is kDenied.
  bool is_over_ = false;
  std::size_t checks_ = 0;
  std::size_t refunds_ = 0;
  std::string_view error_;
  std::vector<Row> rows_;
  std::vector<envoy::FoundKey> keys_;
  /// By rules: what is known of each descriptor's call, and what it meets.
  std::vector<std::unique_ptr<limiter::Question>> callers_;
  std::vector<std::unique_ptr<rules::Match>> matches_;
  EnvoyHeaders headers_;
};

}  // namespace sluice::api
