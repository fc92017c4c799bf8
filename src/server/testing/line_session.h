#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "api/session.h"
#include "net/loop.h"
#include "server/connection_facts.h"

namespace sluice::server::testing {

/// Answers that a test holds back, as a slow store would. Thread-safe.
class Held {
 public:
  void Add(std::function<void()> answer);
  [[nodiscard]] std::size_t size() const;
  /// Lets all of them go.
  void Release();

 private:
  mutable std::mutex mutex_;
  std::vector<std::function<void()>> answers_;
};

/// A protocol for tests: each line comes back. But `hold` is answered when the test says so, `big
/// 9` with nine bytes, `which loop?` with the loop's number, `who am I?` with the subject of the
/// client's certificate, and `quit` with `bye` and the end.
class LineSession final : public api::Session {
 public:
  LineSession(api::SessionHost& host, const ConnectionFacts& facts, net::Loop& loop,
              std::size_t loop_number, Held& held);

  void Receive(std::string_view bytes) override;
  [[nodiscard]] bool in_request() const override { return !line_.empty(); }
  void Drain() override;

 private:
  void Answer(const std::string& line);
  void CloseIfDrained();

  api::SessionHost& host_;
  const ConnectionFacts facts_;
  net::Loop& loop_;
  const std::size_t loop_number_;
  Held& held_;
  std::shared_ptr<LineSession*> self_;  // Those who answer later may come too late.
  std::string line_;
  bool draining_ = false;
};

}  // namespace sluice::server::testing
