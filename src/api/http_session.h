#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/host.h"
#include "api/http_call.h"
#include "api/http_loop.h"
#include "api/problem_response.h"
#include "api/session.h"
#include "wire/http_reader.h"
#include "wire/reply_queue.h"

namespace sluice::api {

struct HttpRoute;

/// One client of HTTP/1.1. docs/http.md has what can be asked.
///
/// Past the options' `max_pending` requests that a store has not answered, bytes are kept and not
/// read; whoever carries them should stop reading from the client then. A client whose requests
/// pile up beyond kMaxBacklog bytes all the same is cut off.
class HttpSession final : public Session {
 public:
  static constexpr std::size_t kMaxBacklog = 4U << 20;

  /// `loop` and `carrier` must outlive the session.
  HttpSession(HttpLoop& loop, SessionHost& carrier, Peer peer);
  ~HttpSession() override;
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;

  void Receive(std::string_view bytes) override;
  [[nodiscard]] bool in_request() const override;
  void Resume() override;
  void Drain() override;

 private:
  void Read(std::string_view& bytes);
  void ReadBacklog();
  void Answer(const wire::HttpRequest& request);
  void Expect(const wire::HttpRequest& request);
  void Run(const wire::HttpRequest& request, const wire::HttpAsked& asked);
  void Ask(std::unique_ptr<HttpCall> call);
  static void AnsweredLater(limiter::Question& question, void* context);
  void AwaitMetrics(std::unique_ptr<HttpCall> call);
  void Park(HttpCall& call);
  void Settle(HttpCall& call);
  void GoOn();
  void Refuse(const Problem& problem, const wire::HttpAsked& asked);
  [[nodiscard]] bool MayAdminister(const wire::HttpRequest& request) const;
  [[nodiscard]] Problem WhyNotAdministrator(const wire::HttpRequest& request) const;

  HttpLoop& loop_;
  SessionHost& carrier_;
  const Peer peer_;
  wire::HttpReader reader_;
  wire::ReplyQueue replies_;
  std::vector<HttpCall*> waiting_;  ///< For a store; in no order.
  std::string backlog_;             ///< Arrived, and not read yet.
  bool draining_ = false;
};

}  // namespace sluice::api
