#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "net/loop.h"
#include "net/timer.h"
#include "redis/backoff.h"
#include "redis/client.h"
#include "redis/service.h"
#include "redis/slot.h"
#include "redis/slot_ranges.h"

namespace sluice::redis {

/// A client for a Redis Cluster: a Client for each node, and a map from slots to nodes.
///
/// The map is read from any node that answers, starting with the seeds. It is refreshed when a
/// reply shows that it is outdated (MOVED, which also has the new owner), or when an owner is
/// unreachable or does not serve. Concurrent refreshes are merged and rate-limited; the old map
/// stays in use meanwhile. Without a map, and while an owner is unreachable, commands fail
/// immediately with the advice kLater, because another node may soon own the slot. The advice is
/// kGiveUp only if access is refused, there is no cluster, or the owner's breaker is open.
///
/// Lives on its loop's thread.
class ClusterClient final : public Service {
 public:
  ClusterClient(net::Loop& loop, Options options);
  /// Closes.
  ~ClusterClient() override;
  ClusterClient(const ClusterClient&) = delete;
  ClusterClient& operator=(const ClusterClient&) = delete;

  [[nodiscard]] bool has_slots() const override { return true; }
  void Send(Route& route, std::string_view command, SteadyTime deadline, Handler handler) override;
  RetryAdvice AdviceFor(const Answer& answer, Route& route) override;
  void OnBreakerChange(BreakerListener listener) override {
    on_breaker_change_ = std::move(listener);
  }
  void Connect() override;
  void Close() override;
  /// kReady once there is a map, unless an owner is unreachable.
  [[nodiscard]] State state() const override { return StatsApprox().state; }
  [[nodiscard]] const std::string& last_error() const override { return last_error_; }
  [[nodiscard]] Stats StatsApprox() const override;

 private:
  using NodeIndex = std::uint16_t;
  static constexpr NodeIndex kNoNode = Route::kNoNode;

  struct Node {
    ServerAddress address;
    std::unique_ptr<Client> client;
    SteadyTime last_used{};
    bool owns = false;  ///< It owns slots in the current map.
  };
  /// A call without a map. Its handler runs at the end of the turn, never inside Send.
  struct Unsent {
    Handler handler;
    CallError error;
  };

  [[nodiscard]] NodeIndex FindOrAdd(const ServerAddress& address);
  [[nodiscard]] bool IsNode(NodeIndex index) const;
  [[nodiscard]] NodeIndex OwnerOf(std::uint16_t slot) const;
  RetryAdvice Follow(std::string_view code, resp::Value error, Route& route);

  // Relaxed: only the loop's thread writes it, and nothing else is read through it.
  [[nodiscard]] State map_state() const { return map_state_.load(std::memory_order_relaxed); }
  void SetMapState(State state) { map_state_.store(state, std::memory_order_relaxed); }
  [[nodiscard]] bool closed() const { return map_state() == State::kClosed; }

  void AskForMap();
  void StartAsking();
  void AskNext();
  void OnMap(NodeIndex asked, const Answer& answer);
  void TakeOver(const std::vector<SlotRange>& ranges);
  void OnNoMap();

  void Sweep();
  void RunUnsent();
  void Reject(Handler handler, Failure failure, const std::string& message);

  net::Loop& loop_;
  const Options options_;
  const std::string address_;
  const std::string ask_map_;

  std::atomic<State> map_state_{State::kIdle};
  /// Guards nodes_ for readers on other threads. Written on the loop's thread only, which reads
  /// without it.
  mutable std::mutex nodes_mutex_;
  std::vector<Node> nodes_;  ///< An element without a client is free for reuse.
  Stats gone_;               ///< Counters of removed nodes.
  std::array<NodeIndex, kSlots> owners_;
  BreakerListener on_breaker_change_;
  bool refused_ = false;  ///< The last node refused access to the map: retrying does not help.
  std::string last_error_;

  bool asks_ = false;         ///< A query for the map is under way.
  bool seeds_asked_ = false;  ///< In this query.
  std::vector<NodeIndex> to_ask_;
  std::size_t turn_ = 0;  ///< Index of the node to query first next time.
  SteadyTime next_ask_{};
  Backoff backoff_;
  net::Timer ask_again_;
  net::Timer sweep_;
  net::TurnEnd turn_end_;
  std::vector<Unsent> unsent_;
};

}  // namespace sluice::redis
