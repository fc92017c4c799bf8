#include "api/http/session.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "api/admin/access.h"
#include "api/admin/browser_session.h"
#include "api/http/exchange.h"
#include "api/http/routes.h"
#include "base/parse_number.h"
#include "base/trace_context.h"
#include "wire/http_response.h"

namespace sluice::api {
namespace {

using limiter::CheckRequest;
using wire::HttpName;
using wire::HttpReader;
using wire::HttpRequest;
using wire::HttpResponse;
using wire::HttpResponseOptions;

// The routes that honor X-Request-Timeout-Ms: who calls them is the API server itself. Through the
// forward-auth routes and /api/ping the header would come from an end client.
constexpr std::string_view kTimeoutPaths = "/api/v1/rate-limit/";
// With a shorter timeout Redis could never answer, and `on_store_failure` would decide every call.
constexpr std::chrono::milliseconds kShortestTimeout{10};

// Sets the timeout of X-Request-Timeout-Ms. Zero and invalid numbers are ignored.
void SetTimeout(const HttpRequest& request, HttpCall& call) {
  if (!request.path.starts_with(kTimeoutPaths)) return;
  const auto milliseconds =
      ParseNumber<std::uint32_t>(request.Get("x-request-timeout-ms")).value_or(0);
  if (milliseconds == 0) return;
  const auto timeout = std::max(std::chrono::milliseconds(milliseconds), kShortestTimeout);
  for (std::size_t i = 0; i < call.size(); ++i) call.part(i).check.timeout = timeout;
}

void SetTrace(const HttpRequest& request, HttpCall& call) {
  const auto trace = ParseTraceparent(request.Get("traceparent"));
  if (!trace) return;
  for (std::size_t i = 0; i < call.size(); ++i) call.part(i).check.trace = *trace;
}

void RefuseAccess(const Problem& problem, HttpExchange& exchange) {
  HttpResponse response = exchange.Respond(KindOf(problem.code).status);
  if (problem.code == ProblemCode::kUnauthorized) {
    response.Add("WWW-Authenticate", "Bearer realm=\"sluice\"");
  }
  FinishWithProblem(problem, response);
}

}  // namespace

HttpSession::HttpSession(HttpLoop& loop, transport::Transport& transport, Peer peer,
                         HttpSurface surface)
    : CallSession(transport, loop.batch(), ReplyOrder::kRequests),
      loop_(loop),
      peer_(std::move(peer)),
      surface_(surface),
      reader_(loop.options().limits) {}

void HttpSession::Receive(std::string_view bytes) {
  if (closing_ || stream_) return;
  if (!backlog_.empty()) {
    backlog_.Add(bytes);
    ReadBacklog();
  } else {
    Read(bytes);
    if (!closing_ && !stream_) backlog_.Add(bytes);
  }
  if (!closing_ && backlog_.size() > kMaxBacklog) {
    loop_.services().counters().protocol_errors[Protocol::kHttp].Add();
    Refuse({.code = ProblemCode::kTooManyPending}, {});
  }
}

bool HttpSession::in_request() const {
  return pending_ < loop_.options().max_pending && pause_ == transport::PauseReason::kNone &&
         (reader_.in_request() || !backlog_.empty());
}

std::size_t HttpSession::held_bytes() const {
  return output_.capacity() + held_replies() + backlog_.held() + reader_.held() +
         calls_under_way() * sizeof(CheckCall::Part);
}

void HttpSession::Resume() {
  if (stream_) return;
  if (!closing_ && (pause_ != transport::PauseReason::kNone || !backlog_.empty())) ReadBacklog();
}

// A request that has begun may end; one that has not is not waited for.
void HttpSession::Drain() {
  draining_ = true;
  if (stream_) return End();
  if (!closing_ && !reader_.in_request() && backlog_.empty()) closing_ = true;
}

void HttpSession::ReadBacklog() {
  backlog_.Take([this](std::string_view& rest) {
    Read(rest);
    if (closing_ || stream_) rest = {};
  });
}

// Answers what has arrived, as far as the store and the client keep up.
void HttpSession::Read(std::string_view& bytes) {
  BeginWork();
  RunRequests(bytes);
  DecideBatch();
}

void HttpSession::RunRequests(std::string_view& bytes) {
  while (!closing_ && !stream_ && HasRoomForCall(loop_.options().max_pending)) {
    if (awaits_work_) pause_ = transport::PauseReason::kWork;
    if (!bytes.empty() && output_.size() + held_replies() >= kMaxOutput)
      pause_ = transport::PauseReason::kOutput;
    if (pause_ != transport::PauseReason::kNone || (!bytes.empty() && !MayRun(batched()))) return;
    switch (reader_.Read(bytes)) {
      case HttpReader::Status::kRequest:
        Answer(reader_.request());
        break;
      case HttpReader::Status::kContinue:
        Expect(reader_.request());
        break;
      case HttpReader::Status::kLargeBody:
        AllowDocument(reader_.request());
        break;
      case HttpReader::Status::kError:
        loop_.services().counters().protocol_errors[Protocol::kHttp].Add();
        if (reader_.error().status == 431)
          transport().CountExceeded(transport::ResourceBound::kHeaderSize);
        if (reader_.error().status == 413)
          transport().CountExceeded(transport::ResourceBound::kBodySize);
        Refuse(ProblemOf(reader_.error()), {});
        break;
      case HttpReader::Status::kMore:
        if (draining_ && !reader_.in_request()) closing_ = true;
        return;
    }
  }
}

// Nothing more is read after it.
void HttpSession::Refuse(const Problem& problem, const HttpResponseOptions& options) {
  HttpResponse response(ReplyNow(), KindOf(problem.code).status, loop_.services().http_date(),
                        {.minor_version = options.minor_version,
                         .keep_alive = false,
                         .head_only = options.head_only});
  FinishWithProblem(problem, response);
  closing_ = true;
}

// Answers `Expect: 100-continue`; refuses before the client sends a body that can't be used.
void HttpSession::Expect(const HttpRequest& request) {
  const auto routes = FindHttpRoutes(request.path, surface_);
  const HttpRoute* const route = FindMethod(routes, request.verb);
  const bool welcome = request.verb == wire::HttpMethod::kOptions ||
                       (route != nullptr && CheckAccess(request, *route).granted);
  if (welcome) {
    ReplyNow() += wire::kHttpContinue;
    return;
  }
  RefuseBody(request);
}

// Only administrators may send rule documents, which are larger than other bodies.
void HttpSession::AllowDocument(const HttpRequest& request) {
  const HttpRoute* const route = FindMethod(FindHttpRoutes(request.path, surface_), request.verb);
  if (route == nullptr || route->use != RouteUse::kDocuments) return;
  if (!CheckAccess(request, *route).granted) return RefuseBody(request);
  reader_.AllowLargeBody();
}

// Answers a request whose body is not read.
void HttpSession::RefuseBody(const HttpRequest& request) {
  HttpResponseOptions options = HttpResponseOptions::For(request);
  options.keep_alive = false;
  closing_ = true;
  Run(request, options);
}

void HttpSession::Answer(const HttpRequest& request) {
  HttpResponseOptions options = HttpResponseOptions::For(request);
  if (draining_ || peer_.is_reserved) options.keep_alive = false;
  if (!options.keep_alive) closing_ = true;
  Run(request, options);
}

void HttpSession::Run(const HttpRequest& request, const HttpResponseOptions& options) {
  const auto routes = FindHttpRoutes(request.path, surface_);
  const HttpRoute* const route = FindMethod(routes, request.verb);
  // Any other route could see, or change, what the checks before it depend on.
  if (route == nullptr || route->use != RouteUse::kChecks) DecideBatch();
  std::string& out = batched() == 0 ? ReplyNow() : loop_.response_buffer();
  HttpExchange exchange{loop_, peer_, request, options, out, surface_};
  RunRoute(exchange, routes, route);
  if (exchange.stream) return StartStream(exchange);
  if (!exchange.response_options.keep_alive) closing_ = true;  // The route may say so.
  if (exchange.call == nullptr) {
    if (&out != &loop_.response_buffer()) return;
    ReplyNow() += out;
    return out.clear();
  }
  SetTimeout(request, *exchange.call);
  if (services().records_traces()) SetTrace(request, *exchange.call);
  if (exchange.call->work) return AwaitWork(std::move(exchange.call));
  Submit(*exchange.call.release());  // GiveBack owns it again.
}

// The last response of the connection.
void HttpSession::StartStream(HttpExchange& exchange) {
  closing_ = exchange.response_options.head_only;
  if (closing_) return;
  streams_chunks_ = exchange.response_options.minor_version > 0;
  stream_ = std::move(exchange.stream);
  stream_->Start(*this);
  if (draining_) End();
}

std::size_t HttpSession::room() const {
  return kMaxStreamedBytes - std::min(kMaxStreamedBytes, output_.size());
}

bool HttpSession::Write(std::string_view bytes) {
  if (!stream_ || closing_ || bytes.empty() || bytes.size() > room()) return false;
  if (streams_chunks_) {
    wire::AppendChunk(bytes, output_);
  } else {
    output_ += bytes;
  }
  transport().OutputReady();
  return true;
}

void HttpSession::End() {
  if (streams_chunks_) output_ += wire::kLastChunk;
  closing_ = true;
  transport().OutputReady();
}

void HttpSession::OnTimer(SteadyTime now) {
  if (stream_ && !closing_) stream_->OnTimer(now);
}

void HttpSession::RunRoute(HttpExchange& exchange, std::span<const HttpRoute> routes,
                           const HttpRoute* route) {
  const HttpRequest& request = exchange.request;
  const bool takes_any = !routes.empty() && routes.front().method == kAnyMethod;
  if (request.verb == wire::HttpMethod::kOptions && !takes_any &&
      (!routes.empty() || request.path == "*")) {
    HttpResponse response = exchange.Respond(204);
    response.Add("Allow",
                 routes.empty() ? "GET, HEAD, POST, PUT, DELETE, OPTIONS" : AllowedMethods(routes));
    return response.Finish();
  }
  if (routes.empty()) return exchange.Refuse({.code = ProblemCode::kNotFound});
  if (route == nullptr) {
    HttpResponse response = exchange.Respond(405);
    response.Add("Allow", AllowedMethods(routes));
    return FinishWithProblem({.code = ProblemCode::kMethodNotAllowed}, response);
  }
  if (peer_.is_reserved && !route->is_for_operators()) {
    HttpResponse response = exchange.Respond(503);
    response.Add("Retry-After", "1");
    return response.Finish();
  }
  exchange.response_options.is_private = route->is_administrative();
  Access access = CheckAccess(request, *route);
  if (access.closes) return Refuse(access.problem, exchange.response_options);
  if (!access.granted) return RefuseAccess(access.problem, exchange);
  exchange.authenticated = std::move(access.principal);
  if (route->is_change()) {
    exchange.admin().LogChange(exchange.Origin(), request.method, request.path);
  }
  // Of calls that proxies hold, the type is that of a body which stays with them.
  if (!takes_any) {
    const BodyUse use = route->use == RouteUse::kDocuments ? BodyUse::kDocument : BodyUse::kJson;
    if (const auto problem = BodyTypeProblem(request, use)) return exchange.Refuse(*problem);
  }
  // Replies that wait for a store would come in the middle of a stream.
  if (route->use == RouteUse::kStreams && (pending_ > 0 || peer_.is_reserved)) {
    return exchange.Refuse({.code = ProblemCode::kTooManyPending});
  }
  served_operator_ = peer_.is_reserved;
  exchange.route = route;
  route->run(exchange);
}

Access HttpSession::CheckAccess(const HttpRequest& request, const HttpRoute& route) const {
  return CheckBrowserAccess(loop_.services(), loop_.browser_sessions(), peer_,
                            loop_.options().admin_hosts, request,
                            {.least = route.role,
                             .needs_whole_scope = route.needs_whole_scope(),
                             .has_own_authorization = route.method != kAnyMethod});
}

void HttpSession::WriteReply(CheckCall& base, std::string& out) {
  auto& call = static_cast<HttpCall&>(base);
  call.answer(call, out);
}

// One at a time: a connection is one caller of slow work, however much it pipelines.
void HttpSession::AwaitWork(std::unique_ptr<HttpCall> call) {
  Await(*call);
  awaits_work_ = true;
  const auto work = std::exchange(call->work, nullptr);
  // Shared, since a std::function can be copied. Dropped with it, if the server ends before.
  struct Waiting {
    std::unique_ptr<HttpCall> call;
    bool has_begun = false;  // Work that can't begin is done at once, while this session runs.
    bool is_done = false;
  };
  const auto waiting = std::make_shared<Waiting>(Waiting{.call = std::move(call)});
  work([waiting] {
    waiting->is_done = true;
    auto* const session = static_cast<HttpSession*>(waiting->call->session);
    if (!waiting->has_begun || session == nullptr) return;
    session->WorkDone(std::move(waiting->call));
    session->DecideBatch();
    session->GoOn();
  });
  waiting->has_begun = true;
  if (waiting->is_done) WorkDone(std::move(waiting->call));
}

void HttpSession::WorkDone(std::unique_ptr<HttpCall> call) {
  awaits_work_ = false;
  if (call->size() == 0) return Finish(*call);
  Submit(*call.release());  // GiveBack owns it again.
}

}  // namespace sluice::api
