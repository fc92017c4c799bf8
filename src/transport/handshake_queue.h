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

/// TLS handshakes of one loop that have input. Fair between addresses: one with thousands of
/// handshakes delays only its own. Each address has a budget for starting handshakes; started ones
/// are finished first. Used on the loop's thread only.
class HandshakeQueue {
 public:
  /// One connection's entry. Must be removed before it is destroyed.
  struct Entry {
    Connection* connection = nullptr;
    std::uint64_t origin = 0;  ///< Hash of the client's address.
    bool has_budget = false;   ///< It was charged to the budget, or is exempt.
    bool was_charged = false;  ///< To be refunded if it succeeds.
    bool was_delayed = false;  ///< Because the budget was exhausted.
    bool is_queued = false;
    bool has_turn = false;  ///< It is running.
    SteadyTime queued_at{};
    std::string input{};  ///< Unprocessed input that followed a PROXY header.
    std::list<Entry*>::iterator position{};
  };

  /// `delayed` counts connections that had to wait for the budget of their address.
  HandshakeQueue(HandshakeBudget& budget, Counter& delayed) : budget_(budget), delayed_(delayed) {}
  HandshakeQueue(const HandshakeQueue&) = delete;
  HandshakeQueue& operator=(const HandshakeQueue&) = delete;

  /// Adds an entry that is not in the queue.
  void Add(Entry& entry, SteadyTime now);
  void Remove(Entry& entry);

  /// Removes and returns the next handshake. Null: there is none, or the rest have no budget left.
  [[nodiscard]] Entry* Next(SteadyTime now);
  /// Reports success of a handshake.
  void Succeeded(Entry& entry);

  /// True if Next may return an entry.
  [[nodiscard]] bool has_ready() const { return !ready_.empty(); }
  /// True if some have no budget; Retry makes Next try them again.
  [[nodiscard]] bool has_parked() const { return !parked_.empty(); }
  void Retry();

 private:
  /// The queued handshakes of one address in FIFO order; never empty.
  struct Origin {
    std::uint64_t number;
    std::list<Entry*> started{};  ///< Have a budget; run first.
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
  Origins parked_;  ///< Without budget.
  std::unordered_map<std::uint64_t, Origins::iterator> origins_;
};

}  // namespace sluice::transport
