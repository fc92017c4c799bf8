#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace sluice::api {

/// Requests of one session that may wait for a store, unless something else is configured.
inline constexpr std::size_t kUsualMaxPending = 1024;

/// Whoever carries a session's bytes.
class SessionHost {
 public:
  /// There is output to write, or the session wants to end: told whenever that comes up outside of
  /// Receive and Drain, as when a store answers later.
  virtual void OutputReady() = 0;

 protected:
  ~SessionHost() = default;
};

/// One connection's conversation without its socket: bytes in, bytes out. Lives on its loop's
/// thread. It may be destroyed at any time, also while it waits for a store.
class Session {
 public:
  virtual ~Session() = default;

  /// With so much to write, no further request is answered: a small one may have a large answer.
  static constexpr std::size_t kMostOutput = std::size_t{1} << 20;

  /// Takes all of `bytes`, which are good until it returns. Whatever can be answered now is in
  /// `output` then, in the order of the requests.
  virtual void Receive(std::string_view bytes) = 0;

  /// What is to be written; whoever writes it takes it away.
  [[nodiscard]] std::string& output() { return output_; }

  /// Nothing more is read; the connection is closed once `output` is written and nothing is
  /// pending.
  [[nodiscard]] bool closing() const { return closing_; }

  /// Whether there are requests that are not answered because of kMostOutput. Nothing should be
  /// read then; Resume answers them once the output is written.
  [[nodiscard]] bool held_back() const { return held_back_; }
  virtual void Resume() {}

  /// Requests that wait for a store.
  [[nodiscard]] std::size_t pending() const { return pending_; }

  /// Whether a request has begun and not ended: whoever is slow here is slow on purpose.
  [[nodiscard]] virtual bool in_request() const = 0;

  /// The server is about to end: answer what has been asked and close.
  virtual void Drain() = 0;

  /// Run now and then, about once a second. Whatever comes of it is in `output` or `closing`.
  virtual void LookAtTime(SteadyTime /*now*/) {}

 protected:
  std::string output_;
  bool closing_ = false;
  bool held_back_ = false;
  std::size_t pending_ = 0;
};

}  // namespace sluice::api
