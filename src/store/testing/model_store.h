#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>

#include "algo/testing/model.h"
#include "store/store.h"

namespace sluice::store::testing {

/// The judge of the stores: decisions over several limits as their definition reads, on the models
/// of the algorithms. Every operation works on copies of its keys and keeps them, or does not.
///
/// It forgets nothing by itself, chooses slots by counting, and is not thread-safe. A key that is
/// as if never used, and has no grant, is treated as one that was never seen: any store may have
/// dropped it.
class ModelStore final : public Store {
 public:
  Answered Submit(Call& call) override;
  void SubmitBatch(std::span<Call* const> calls) override;

 private:
  using Integer = algo::testing::Integer;
  using KeyName = std::tuple<std::string, std::string, std::string>;

  struct Record {
    algo::testing::KeyModel model;
    Integer grant = 0;
  };

  /// A key in the course of one call.
  struct View {
    Record record;
    bool must_write = false;
    Integer delay_at_first = 0;
    /// What earlier uses of the key in this call are about to take.
    Integer pending = 0;
    std::set<std::uint64_t> pending_slots = {};
  };

  struct Judgement {
    Outcome outcome = Outcome::kAllowed;
    Micros retry_after{0};
  };

  enum class Keep : std::uint8_t { kYes, kNo };

  static std::optional<ErrorCode> Validate(const Call& call);
  static KeyName NameOf(const Use& use);

  /// The key as stored, or nullptr if it is as if never used.
  Record* FindLive(const Use& use, const Integer& now);
  View Look(const Use& use, const Integer& now);
  std::map<KeyName, View> LookAtAll(const Call& call, const Integer& now);
  void Write(const Use& use, const View& view);

  void Decide(Call& call, const Integer& now, Keep keep);
  static Judgement Judge(const Use& use, const Integer& now, View& view);
  void Settle(const Call& call, Use& use, View& view);
  Receipt Take(const Use& use, const Integer& cost, View& view);
  static Verdict Status(const View& view, const Integer& now);

  void Reset(Call& call, const Integer& now);
  void Grant(Use& use, const Integer& now);
  void Adjust(Use& use, const Integer& now);
  void ReleaseOrRenew(Call& call, Use& use, const Integer& now);
  void Inspect(Use& use, const Integer& now);

  std::map<KeyName, Record> keys_;
  std::uint64_t last_slot_ = std::uint64_t{1} << 40;  ///< Far from ids that a test may choose.
};

}  // namespace sluice::store::testing
