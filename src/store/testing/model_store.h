#pragma once

#include <cstdint>
#include <map>
#include <optional>
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

  /// Whether the key was as if never used at the latest time that the store has seen, but is not so
  /// at `now`, to which the clock was set back: a store may or may not have forgotten it.
  [[nodiscard]] bool MayBeForgotten(const Key& key, WallTime now) const;

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
    /// Of a call that is let in, before anything of this call is in the bucket.
    Integer delay = 0;
    /// What earlier uses of the key in this call are about to take.
    Integer pending = 0;
  };

  struct Judgement {
    Outcome outcome = Outcome::kAllowed;
    Micros retry_after{0};
    Integer delay = 0;
  };

  static std::optional<ErrorCode> Validate(const Call& call);
  static KeyName NameOf(const Key& key);
  static bool IsAsIfNeverUsed(const Record& record, const Integer& now);

  /// The key as stored, or nullptr if it is as if never used.
  Record* FindLive(const Use& use, const Integer& now);
  View Look(const Use& use, const Integer& now);
  std::map<KeyName, View> LookAtAll(const Call& call, const Integer& now);
  void WriteAll(const Call& call, const std::map<KeyName, View>& views);

  void Decide(Call& call, const Integer& now);
  static Judgement Judge(const Use& use, const Integer& now, View& view);
  Receipt TakeAsDecided(const Call& call, const Use& use, View& view);
  Receipt Take(const Use& use, const Integer& cost, View& view);
  static Verdict Status(const View& view, const Integer& now);

  void Reset(Call& call, const Integer& now);
  void RunEach(Call& call, const Integer& now);
  static void Grant(const Use& use, View& view);
  static void Adjust(const Use& use, View& view);
  static void Inspect(Use& use, const Integer& now, const View& view);

  std::map<KeyName, Record> keys_;
  Integer latest_ = 0;
  std::uint64_t last_slot_ = std::uint64_t{1} << 40;  ///< Far from ids that a test may choose.
};

}  // namespace sluice::store::testing
