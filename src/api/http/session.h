#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "api/backlog.h"
#include "api/call_session.h"
#include "api/http/call.h"
#include "api/http/loop.h"
#include "api/http/problem_response.h"
#include "api/server_services.h"
#include "wire/http_reader.h"

namespace sluice::api {

struct Access;
struct HttpExchange;
struct HttpRoute;

/// One client of HTTP/1.1. docs/http.md has what can be asked.
///
/// Past the options' `max_pending` requests that a store has not answered, bytes are kept and not
/// read; the transport should stop reading from the client then. A client whose requests
/// pile up beyond kMaxBacklog bytes all the same is cut off.
class HttpSession final : public CallSession {
 public:
  static constexpr std::size_t kMaxBacklog = 4U << 20;

  /// `loop` and `transport` must outlive the session.
  HttpSession(HttpLoop& loop, transport::Transport& transport, Peer peer);
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;

  void Receive(std::string_view bytes) override;
  [[nodiscard]] bool in_request() const override;
  [[nodiscard]] std::size_t held_bytes() const override;
  void Resume() override;
  void Drain() override;
  [[nodiscard]] bool served_operator() const override { return served_operator_; }

 private:
  void Read(std::string_view& bytes);
  void RunRequests(std::string_view& bytes);
  void ReadBacklog();
  void Answer(const wire::HttpRequest& request);
  void Expect(const wire::HttpRequest& request);
  void AllowDocument(const wire::HttpRequest& request);
  void RefuseBody(const wire::HttpRequest& request);
  void Run(const wire::HttpRequest& request, const wire::HttpResponseOptions& options);
  void RunRoute(HttpExchange& exchange, std::span<const HttpRoute> routes, const HttpRoute* route);
  void AwaitWork(std::unique_ptr<HttpCall> call);
  void WriteReply(CheckCall& call, std::string& out) override;
  void Refuse(const Problem& problem, const wire::HttpResponseOptions& options);
  [[nodiscard]] Access CheckAccess(const wire::HttpRequest& request, const HttpRoute& route) const;

  HttpLoop& loop_;
  const Peer peer_;
  wire::HttpReader reader_;
  Backlog backlog_;
  bool awaits_work_ = false;  ///< Of the server; until then no request is looked at.
  bool served_operator_ = false;
  bool draining_ = false;
};

}  // namespace sluice::api
