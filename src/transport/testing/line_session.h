#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "net/loop.h"
#include "store/store_queue.h"
#include "transport/connection_facts.h"
#include "transport/session.h"

namespace sluice::transport::testing {

/// Answers that a test holds back, as a slow store would. Thread-safe.
class Held {
 public:
  void Add(std::function<void()> answer);
  [[nodiscard]] std::size_t size() const;
  /// Lets all of them go.
  void Release();

  std::atomic<std::size_t> answered{0};  ///< Lines.
  store::StoreQueue* queue = nullptr;    ///< Where held answers count, if there is one loop only.

 private:
  mutable std::mutex mutex_;
  std::vector<std::function<void()>> answers_;
};

/// A protocol for tests: each line comes back. But `hold` is answered when the test says so, `big
/// 9` with nine bytes, `which loop?` with the loop's number, `how many?` with the number of lines
/// that sessions with the same `Held` have answered, `who am I?` with the subject of the client's
/// certificate, and `quit` with `bye` and the end. On a reserved connection `health` is answered,
/// anything else with `no room`, and then it ends.
class LineSession final : public transport::Session {
 public:
  LineSession(transport::Transport& host, const ConnectionFacts& facts, net::Loop& loop,
              std::size_t loop_number, Held& held);

  void Receive(std::string_view bytes) override;
  [[nodiscard]] bool in_request() const override { return !line_.empty(); }
  void Resume() override { Receive({}); }
  void Drain() override;
  [[nodiscard]] bool served_operator() const override { return served_operator_; }

 private:
  void Answer(const std::string& line);
  void Hold();
  void CloseIfDrained();

  transport::Transport& host_;
  const ConnectionFacts facts_;
  net::Loop& loop_;
  const std::size_t loop_number_;
  Held& held_;
  std::shared_ptr<LineSession*> self_;  // Those who answer later may come too late.
  std::string unread_;
  std::string line_;
  bool served_operator_ = false;
  bool draining_ = false;
};

}  // namespace sluice::transport::testing
