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
#include "api/http/routes.h"
#include "api/http/stream.h"
#include "api/server_services.h"
#include "wire/http_reader.h"

namespace sluice::api {

struct Access;

/// One client of HTTP/1.1. docs/http.md has what can be asked.
///
/// Past the options' `max_pending` requests that a store has not answered, bytes are kept and not
/// read; the transport should stop reading from the client then. A client whose requests
/// pile up beyond kMaxBacklog bytes all the same is cut off.
class HttpSession final : public CallSession, private StreamSink {
 public:
  /// Of a streamed response, what the client has not read.
  static constexpr std::size_t kMaxStreamedBytes = std::size_t{256} << 10;
  static constexpr std::size_t kMaxBacklog = 4U << 20;

  /// `loop` and `transport` must outlive the session.
  HttpSession(HttpLoop& loop, transport::Transport& transport, Peer peer,
              HttpSurface surface = HttpSurface::kAll);
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;

  void Receive(std::string_view bytes) override;
  [[nodiscard]] bool in_request() const override;
  [[nodiscard]] std::size_t held_bytes() const override;
  void Resume() override;
  void Drain() override;
  void OnTimer(SteadyTime now) override;
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
  void StartStream(HttpExchange& exchange);
  // ---- StreamSink
  [[nodiscard]] std::size_t room() const override;
  bool Write(std::string_view bytes) override;
  void End() override;
  void AwaitWork(std::unique_ptr<HttpCall> call);
  void WorkDone(std::unique_ptr<HttpCall> call);
  void WriteReply(CheckCall& call, std::string& out) override;
  void Refuse(const Problem& problem, const wire::HttpResponseOptions& options);
  [[nodiscard]] Access CheckAccess(const wire::HttpRequest& request, const HttpRoute& route) const;

  HttpLoop& loop_;
  const Peer peer_;
  const HttpSurface surface_;
  wire::HttpReader reader_;
  Backlog backlog_;
  bool awaits_work_ = false;  ///< Of the server; until then no request is looked at.
  bool served_operator_ = false;
  bool draining_ = false;
  bool streams_chunks_ = false;  ///< With `stream_`.
  /// The response that is being sent; nothing more is read then. Last: it refers to the session.
  std::unique_ptr<HttpStream> stream_;
};

}  // namespace sluice::api
