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

/// A Redis Cluster: a Client for each of its nodes, and a map that says which node has which slot.
///
/// The map comes from any node that answers, first of all from the seeds, one after the other. It
/// is asked for anew when a reply says that it is wrong (MOVED, which also says what is right), or
/// when an owner can't be reached or does not serve; all who find so at one time share one
/// question, and questions keep a distance. The old map is used until there is a new one. Until
/// there is a first one, and while an owner can't be reached, commands fail at once with the
/// advice kLater: soon another node may have the slot. Only if access is refused, there is no
/// cluster, or the owner has failed for so long that its breaker is open, it is kGiveUp.
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
  /// kReady once there is a map, unless an owner can't be reached.
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
    bool owns = false;  ///< It had slots when the map was made.
  };
  /// A call that came before the map. Its handler is run at the turn's end: never inside Send.
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
  /// Changed on the loop's thread only; there, others' readings don't matter. The mutex is for
  /// those who read from elsewhere.
  mutable std::mutex nodes_mutex_;
  std::vector<Node> nodes_;  ///< One without a client is free for another.
  Stats gone_;               ///< Counters of removed nodes.
  std::array<NodeIndex, kSlots> owners_;
  BreakerListener on_breaker_change_;
  bool refused_ = false;  ///< The last node refused to send the map: waiting does not help.
  std::string last_error_;

  bool asks_ = false;         ///< A question for the map is under way.
  bool seeds_asked_ = false;  ///< In this question.
  std::vector<NodeIndex> to_ask_;
  std::size_t turn_ = 0;  ///< Index of the node to ask first next time.
  SteadyTime next_ask_{};
  Backoff backoff_;
  net::Timer ask_again_;
  net::Timer sweep_;
  net::TurnEnd turn_end_;
  std::vector<Unsent> unsent_;
};

}  // namespace sluice::redis
