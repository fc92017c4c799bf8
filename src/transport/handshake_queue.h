#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <unordered_map>

#include "base/clock.h"
#include "base/counter.h"
#include "transport/handshake_budget.h"

namespace sluice::transport {

class Connection;

/// TLS handshakes of one loop that have something to do. Addresses take turns, so that one with
/// thousands of handshakes delays its own only; and each address has a budget for those it begins.
/// Handshakes that have begun are finished first. Used on the loop's thread only.
class HandshakeQueue {
 public:
  /// One connection's place. It is taken out before it is destroyed.
  struct Entry {
    Connection* connection = nullptr;
    std::uint64_t origin = 0;  ///< A number that stands for the client's address.
    bool has_budget = false;   ///< It was charged for, or need not be.
    bool was_charged = false;  ///< Something is to be given back if it succeeds.
    bool was_delayed = false;  ///< For want of a budget.
    bool is_queued = false;
    bool has_turn = false;  ///< It is being run.
    SteadyTime queued_at{};
    std::string input{};  ///< Came with the header of a proxy, and is not looked at yet.
    std::list<Entry*>::iterator position{};
  };

  /// `delayed` counts connections that had to wait for the budget of their address.
  HandshakeQueue(HandshakeBudget& budget, Counter& delayed) : budget_(budget), delayed_(delayed) {}
  HandshakeQueue(const HandshakeQueue&) = delete;
  HandshakeQueue& operator=(const HandshakeQueue&) = delete;

  /// At most once until it comes out again.
  void Add(Entry& entry, SteadyTime now);
  void Remove(Entry& entry);

  /// Removes and returns the next handshake. Null: there is none, or the rest have no budget left.
  [[nodiscard]] Entry* Next(SteadyTime now);
  /// It has succeeded.
  void Succeeded(Entry& entry);

  /// Whether Next may have one.
  [[nodiscard]] bool has_ready() const { return !ready_.empty(); }
  /// Whether some have no budget: Retry lets Next ask again.
  [[nodiscard]] bool has_parked() const { return !parked_.empty(); }
  void Retry();

 private:
  /// All that wait from one address, in the order in which they came; never none.
  struct Origin {
    std::uint64_t number;
    std::list<Entry*> started{};  ///< They have their budget, and come first.
    std::list<Entry*> fresh{};
    bool is_parked = false;

    [[nodiscard]] std::list<Entry*>& ListOf(const Entry& entry) {
      return entry.has_budget ? started : fresh;
    }
  };
  using Origins = std::list<Origin>;

  HandshakeBudget& budget_;
  Counter& delayed_;
  Origins ready_;   ///< The first is next.
  Origins parked_;  ///< Have no budget.
  std::unordered_map<std::uint64_t, Origins::iterator> origins_;
};

}  // namespace sluice::transport
