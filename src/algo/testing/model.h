#pragma once

#include <cstdint>
#include <map>
#include <variant>
#include <vector>

#include <boost/multiprecision/cpp_int.hpp>
#include <boost/multiprecision/rational_adaptor.hpp>

#include <sluice/limit.h>

#include "algo/state.h"

namespace sluice::algo::testing {

/// The judge of the algorithms: the same operations as in algo/state.h, written as their
/// definitions read, on numbers that neither round nor overflow. Slow, and for tests only.
///
/// Times are whole microseconds since the epoch. Each model below is advanced to a moment before
/// it is asked or changed; that moment is its "effective now", which is later than the clock's now
/// if the clock is behind the key by no more than kClockTolerance. What holds no information has no
/// time of its own (a full bucket, a window with nothing used, an empty log), and neither have
/// slots: for them now is now.
///
/// The numbers have room for every product that the definitions know, and throw rather than wrap.
using Integer = boost::multiprecision::checked_int512_t;
using Rational =
    boost::multiprecision::number<boost::multiprecision::rational_adaptor<Integer::backend_type>>;

/// Token and leaky bucket. What is left grows by the rate at every multiple of the interval.
class BucketModel {
 public:
  BucketModel(const LimitNumbers& limit, const Integer& now);

  ClockSeen Advance(const Integer& now);
  ClockSeen ChangeLimit(const LimitNumbers& to, const Integer& now);
  Integer Left() const;
  Integer WhenLeft(const Integer& amount) const;
  Integer WhenFresh() const;
  Integer Delay() const;
  Integer ReceiptTime() const { return at_; }
  void Take(const Integer& cost, std::uint64_t slot);
  void Adjust(const Integer& at, const Integer& delta);

 private:
  Rational RatePerStep() const;
  Integer StepOf(const Integer& moment) const;
  Integer WhenLevel(const Rational& level) const;
  void SetLevel(const Rational& level);

  LimitNumbers limit_;
  Rational level_;
  Integer at_;
};

/// Used so far in the window that contains the effective now.
class FixedWindowModel {
 public:
  FixedWindowModel(const LimitNumbers& limit, const Integer& now);

  ClockSeen Advance(const Integer& now);
  ClockSeen ChangeLimit(const LimitNumbers& to, const Integer& now);
  Integer Left() const;
  Integer WhenLeft(const Integer& amount) const;
  Integer WhenFresh() const;
  Integer Delay() const { return 0; }
  Integer ReceiptTime() const { return begin_; }
  void Take(const Integer& cost, std::uint64_t slot);
  void Adjust(const Integer& at, const Integer& delta);

 private:
  Integer End() const;

  LimitNumbers limit_;
  Integer begin_;
  Integer used_ = 0;
};

/// Used in the aligned window that contains the effective now, and in the one before.
class SlidingCounterModel {
 public:
  SlidingCounterModel(const LimitNumbers& limit, const Integer& now);

  ClockSeen Advance(const Integer& now);
  ClockSeen ChangeLimit(const LimitNumbers& to, const Integer& now);
  Integer Left() const;
  Integer WhenLeft(const Integer& amount) const;
  Integer WhenFresh() const;
  Integer Delay() const { return 0; }
  Integer ReceiptTime() const { return begin_; }
  void Take(const Integer& cost, std::uint64_t slot);
  void Adjust(const Integer& at, const Integer& delta);

 private:
  Integer EstimateAt(const Integer& moment) const;
  /// The first moment since the window began at which the estimate is at most `most`.
  Integer WhenEstimate(const Integer& most) const;

  LimitNumbers limit_;
  Integer begin_;
  Integer effective_now_;
  Integer previous_ = 0;
  Integer current_ = 0;
};

/// Every call, with its moment.
class SlidingLogModel {
 public:
  SlidingLogModel(const LimitNumbers& limit, const Integer& now);

  ClockSeen Advance(const Integer& now);
  ClockSeen ChangeLimit(const LimitNumbers& to, const Integer& now);
  Integer Left() const;
  Integer WhenLeft(const Integer& amount) const;
  Integer WhenFresh() const;
  Integer Delay() const { return 0; }
  Integer ReceiptTime() const { return effective_now_; }
  void Take(const Integer& cost, std::uint64_t slot);
  void Adjust(const Integer& at, const Integer& delta);

 private:
  Integer Used() const;

  LimitNumbers limit_;
  Integer effective_now_;
  std::map<Integer, Integer> cost_at_;
};

/// Every slot that is held.
class ConcurrencyModel {
 public:
  ConcurrencyModel(const LimitNumbers& limit, const Integer& now);

  ClockSeen Advance(const Integer& now);
  ClockSeen ChangeLimit(const LimitNumbers& to, const Integer& now);
  Integer Left() const;
  Integer WhenLeft(const Integer& amount) const;
  Integer WhenFresh() const;
  Integer Delay() const { return 0; }
  Integer ReceiptTime() const { return now_; }
  void Take(const Integer& cost, std::uint64_t slot);
  void Adjust(const Integer& at, const Integer& delta);

  bool Holds(std::uint64_t slot) const { return slots_.contains(slot); }
  bool Release(std::uint64_t slot);
  bool Renew(std::uint64_t slot);

 private:
  struct Held {
    Integer expires;
    Integer cost;
  };

  Integer Used() const;

  LimitNumbers limit_;
  Integer now_;
  std::map<std::uint64_t, Held> slots_;
};

/// One key under whatever limit it has at the time. A plain value: work on a copy, and keep or
/// drop it.
class KeyModel {
 public:
  /// As if never used.
  KeyModel(const LimitNumbers& limit, const Integer& now);

  const LimitNumbers& limit() const { return limit_; }

  /// Brings the key to `now` under `limit`, which may have other numbers than before or be of
  /// another algorithm.
  ClockSeen Advance(const LimitNumbers& limit, const Integer& now);

  /// What can be taken now; below zero in debt.
  Integer Left() const;
  /// The first moment at which Left is at least `amount` (more than Left, at most the cap).
  Integer WhenLeft(const Integer& amount) const;
  /// The first moment at which the key is as if never used; 0 if it is.
  Integer WhenFresh() const;
  /// Leaky bucket: how long what is in the bucket takes to leak.
  Integer Delay() const;

  void Take(const Integer& cost, std::uint64_t slot);
  /// What names the last Take in an Adjust.
  Integer ReceiptTime() const;
  void Adjust(const Integer& at, const Integer& delta);

  /// Concurrency only; every other algorithm holds no slots.
  bool Holds(std::uint64_t slot) const;
  bool Release(std::uint64_t slot);
  bool Renew(std::uint64_t slot);

 private:
  using Model = std::variant<BucketModel, FixedWindowModel, SlidingCounterModel, SlidingLogModel,
                             ConcurrencyModel>;
  static Model Make(const LimitNumbers& limit, const Integer& now);

  LimitNumbers limit_;
  Model model_;
};

/// The window of `limit` (anchored to the epoch or the calendar) that contains `moment`.
struct WindowBounds {
  Integer begin;
  Integer end;
};
WindowBounds WindowAt(const LimitNumbers& limit, const Integer& moment);

}  // namespace sluice::algo::testing
