#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "transport/session.h"

namespace sluice::api::testing {

/// A transport whose turns a test makes itself. In each of them a session may run so many requests.
class ShareTransport final : public transport::Transport {
 public:
  explicit ShareTransport(std::uint32_t requests) {
    share_ = transport::TurnShare(requests, [] { return SteadyTime{}; });
    share_.Renew(std::chrono::seconds(1));
  }
  void OutputReady() override {}
  void BeginWork() override { share_.Begin(); }

  /// Lets the session go on until it waits for nothing but answers of its store. Returns how many
  /// turns that took.
  std::size_t RunTurns(transport::Session& session) {
    std::size_t turns = 0;
    while (session.pause() == transport::PauseReason::kTurn) {
      share_.Renew(std::chrono::seconds(1));
      session.Resume();
      ++turns;
    }
    return turns;
  }
};

}  // namespace sluice::api::testing
