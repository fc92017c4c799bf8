#include "api/http_session.h"

#include <charconv>
#include <chrono>
#include <cstdint>
#include <system_error>
#include <utility>

#include "api/http_exchange.h"
#include "api/http_routes.h"
#include "wire/http_response.h"

namespace sluice::api {
namespace {

using limiter::Question;
using wire::HttpAsked;
using wire::HttpName;
using wire::HttpReader;
using wire::HttpRequest;
using wire::HttpResponse;

// What may be kept of requests that lie unread, for others like it.
constexpr std::size_t kKeptBacklog = 64U << 10;

// The token of "Bearer <token>"; the scheme in upper or lower case.
std::string_view BearerToken(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() <= kScheme.size() ||
      !EqualIgnoringCase(authorization.substr(0, kScheme.size()), kScheme)) {
    return {};
  }
  authorization.remove_prefix(kScheme.size());
  while (authorization.starts_with(' ')) authorization.remove_prefix(1);
  return authorization;
}

// How long the client says that it waits. What is no number of milliseconds says nothing.
void SetPatience(const HttpRequest& request, HttpCall& call) {
  const std::string_view text = request.Get("x-request-timeout-ms");
  std::uint32_t milliseconds = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, milliseconds);
  if (error != std::errc{} || stopped != end) return;
  for (std::size_t i = 0; i < call.size(); ++i) {
    call.part(i).question.patience = std::chrono::milliseconds(milliseconds);
  }
}

// Whether it is a header that proxies add to what they forward.
bool IsOfProxies(std::string_view header) {
  constexpr std::string_view kFamily = "x-forwarded-";
  return EqualIgnoringCase(header.substr(0, kFamily.size()), kFamily) ||
         EqualIgnoringCase(header, "forwarded") || EqualIgnoringCase(header, "via") ||
         EqualIgnoringCase(header, "x-real-ip");
}

// What a request from this very machine says of coming from elsewhere all the same: a page in a
// local browser is not its user, and a proxy speaks for whoever called it. Empty: nothing.
std::string_view WhyNotLocal(const HttpRequest& request) {
  if (request.Find(HttpName::kOrigin) != nullptr) {
    return "a request with an Origin comes from a page in a browser: without an admin token such "
           "are refused";
  }
  for (const wire::HttpHeader& header : request.headers) {
    if (!IsOfProxies(header.name)) continue;
    return "a proxy has forwarded this request, for whoever called it: without an admin token such "
           "are refused";
  }
  return {};
}

}  // namespace

HttpSession::HttpSession(HttpLoop& loop, SessionHost& carrier, Peer peer)
    : loop_(loop),
      carrier_(carrier),
      peer_(std::move(peer)),
      reader_(loop.options().limits),
      replies_(output_, loop.places()) {}

HttpSession::~HttpSession() {
  for (HttpCall* call : waiting_) call->session = nullptr;
}

void HttpSession::Receive(std::string_view bytes) {
  if (closing_) return;
  if (!backlog_.empty()) {
    backlog_ += bytes;
    ReadBacklog();
  } else {
    Read(bytes);
    if (!closing_) backlog_ = bytes;
  }
  if (!closing_ && backlog_.size() > kMaxBacklog) {
    loop_.host().CountProtocolError(Protocol::kHttp);
    Refuse({.code = ProblemCode::kTooManyPending}, {});
  }
}

bool HttpSession::in_request() const {
  return pending_ < loop_.options().max_pending && !held_back_ &&
         (reader_.in_request() || !backlog_.empty());
}

void HttpSession::Resume() {
  if (!closing_) ReadBacklog();
}

// A request that has begun may end; one that has not is not waited for.
void HttpSession::Drain() {
  draining_ = true;
  if (!closing_ && !reader_.in_request() && backlog_.empty()) closing_ = true;
}

void HttpSession::ReadBacklog() {
  std::string_view rest = backlog_;
  Read(rest);
  if (closing_) rest = {};
  backlog_.erase(0, backlog_.size() - rest.size());
  if (backlog_.empty() && backlog_.capacity() > kKeptBacklog) backlog_ = std::string();
}

// Answers what has arrived, as far as the store and the client keep up.
void HttpSession::Read(std::string_view& bytes) {
  held_back_ = false;
  while (!closing_ && pending_ < loop_.options().max_pending) {
    held_back_ = output_.size() + replies_.held() >= kMostOutput && !bytes.empty();
    if (held_back_) return;
    switch (reader_.Read(bytes)) {
      case HttpReader::Status::kRequest:
        Answer(reader_.request());
        break;
      case HttpReader::Status::kContinue:
        Expect(reader_.request());
        break;
      case HttpReader::Status::kError:
        loop_.host().CountProtocolError(Protocol::kHttp);
        Refuse(ProblemOf(reader_.error()), {});
        break;
      case HttpReader::Status::kMore:
        if (draining_ && !reader_.in_request()) closing_ = true;
        return;
    }
  }
}

// Nothing more is read after it.
void HttpSession::Refuse(const Problem& problem, const HttpAsked& asked) {
  HttpResponse response(
      replies_.Now(), KindOf(problem.code).status, loop_.host().http_date(),
      {.minor_version = asked.minor_version, .keep_alive = false, .head_only = asked.head_only});
  FinishWithProblem(problem, response);
  closing_ = true;
}

// Whoever asks before it sends a body is spared to send one that can't be used.
void HttpSession::Expect(const HttpRequest& request) {
  const auto routes = FindHttpRoutes(request.path);
  const HttpRoute* const route = FindMethod(routes, request.verb);
  const bool welcome = request.verb == wire::HttpMethod::kOptions ||
                       (route != nullptr && (!route->for_administrators || MayAdminister(request)));
  if (welcome) {
    replies_.Now() += wire::kHttpContinue;
    return;
  }
  HttpAsked asked = HttpAsked::By(request);
  asked.keep_alive = false;
  closing_ = true;
  Run(request, asked);
}

void HttpSession::Answer(const HttpRequest& request) {
  HttpAsked asked = HttpAsked::By(request);
  if (draining_) asked.keep_alive = false;
  if (!asked.keep_alive) closing_ = true;
  Run(request, asked);
}

void HttpSession::Run(const HttpRequest& request, const HttpAsked& asked) {
  HttpExchange exchange{loop_, peer_, request, asked, replies_.Now()};
  const auto routes = FindHttpRoutes(request.path);
  const bool takes_any = !routes.empty() && routes.front().method == kAnyMethod;
  if (request.verb == wire::HttpMethod::kOptions && !takes_any &&
      (!routes.empty() || request.path == "*")) {
    HttpResponse response = exchange.Respond(204);
    response.Add("Allow",
                 routes.empty() ? "GET, HEAD, POST, PUT, DELETE, OPTIONS" : AllowedMethods(routes));
    return response.Finish();
  }
  if (routes.empty()) return exchange.Refuse({.code = ProblemCode::kNotFound});
  const HttpRoute* const route = FindMethod(routes, request.verb);
  if (route == nullptr) {
    HttpResponse response = exchange.Respond(405);
    response.Add("Allow", AllowedMethods(routes));
    return FinishWithProblem({.code = ProblemCode::kMethodNotAllowed}, response);
  }
  if (route->for_administrators && !MayAdminister(request)) {
    const Problem problem = WhyNotAdministrator(request);
    if (problem.code == ProblemCode::kForbidden) return exchange.Refuse(problem);
    HttpResponse response = exchange.Respond(401);
    response.Add("WWW-Authenticate", "Bearer realm=\"sluice\"");
    return FinishWithProblem(problem, response);
  }
  route->run(exchange);
  if (exchange.call == nullptr) return;
  SetPatience(request, *exchange.call);
  Ask(std::move(exchange.call));
}

// Without a token, being local is enough, if it is certain.
bool HttpSession::MayAdminister(const HttpRequest& request) const {
  const Host& host = loop_.host();
  if (!host.has_admin_token() && !WhyNotLocal(request).empty()) return false;
  const std::string_view token = BearerToken(request.Get(HttpName::kAuthorization));
  return api::MayAdminister(host, peer_, !token.empty() && host.IsAdminToken(token));
}

Problem HttpSession::WhyNotAdministrator(const HttpRequest& request) const {
  if (loop_.host().has_admin_token()) {
    const bool shows_one = !BearerToken(request.Get(HttpName::kAuthorization)).empty();
    return {.code = ProblemCode::kUnauthorized,
            .detail = shows_one ? "the token that was shown is not the admin token"
                                : "this needs the admin token, and none was shown: send "
                                  "Authorization: Bearer <token>"};
  }
  return {.code = ProblemCode::kForbidden,
          .detail = std::string(peer_.is_local ? WhyNotLocal(request) : "")};
}

void HttpSession::Ask(std::unique_ptr<HttpCall> call) {
  if (call->awaits_metrics) return AwaitMetrics(std::move(call));
  Host& host = loop_.host();
  call->unanswered = call->size();
  for (std::size_t i = 0; i < call->size(); ++i) {
    HttpCall::Part& part = call->part(i);
    if (part.question.own_limits() == 0) AddCounted(host.identifier(), part.question);
    part.question.on_done = AnsweredLater;
    part.question.context = &part;
    if (host.limiter().Ask(part.question, host.now()) != store::Answered::kNow) continue;
    host.CountAnswer(Protocol::kHttp, part.question);
    if (call->take_note != nullptr) call->take_note(part);
    --call->unanswered;
  }
  if (call->unanswered == 0) {
    call->answer(*call, replies_.Now());
    return loop_.GiveBack(std::move(call));
  }
  Park(*call.release());  // The store has it now; AnsweredLater owns it again.
}

void HttpSession::AwaitMetrics(std::unique_ptr<HttpCall> call) {
  Park(*call);
  // Shared, since a std::function can be copied. Dropped with it, if the server ends before.
  const std::shared_ptr<HttpCall> asked(std::move(call));
  loop_.host().MakeMetrics(asked->metrics_format, [asked](std::string page) {
    HttpSession* const session = asked->session;
    if (session == nullptr) return;
    asked->metrics = std::move(page);
    session->Settle(*asked);
    session->GoOn();
  });
}

// Keeps the place of an answer that comes later.
void HttpSession::Park(HttpCall& call) {
  call.session = this;
  call.place = &replies_.Later();
  call.index = waiting_.size();
  waiting_.push_back(&call);
  pending_ = waiting_.size();
}

void HttpSession::AnsweredLater(Question& question, void* context) {
  auto& part = *static_cast<HttpCall::Part*>(context);
  HttpCall& asked = part.call;
  HttpLoop& loop = asked.loop;
  loop.host().CountAnswer(Protocol::kHttp, question);
  if (asked.take_note != nullptr) asked.take_note(part);
  if (--asked.unanswered > 0) return;
  std::unique_ptr<HttpCall> call(&asked);
  HttpSession* const session = call->session;
  if (session != nullptr) session->Settle(*call);
  loop.GiveBack(std::move(call));
  if (session != nullptr) session->GoOn();
}

// Lets the reply go, once those before it have gone.
void HttpSession::Settle(HttpCall& call) {
  call.answer(call, call.place->text);
  replies_.Finish(*call.place);
  waiting_[call.index] = waiting_.back();
  waiting_[call.index]->index = call.index;
  waiting_.pop_back();
  pending_ = waiting_.size();
}

// Nothing here may be touched after the carrier is told: it may end the session.
void HttpSession::GoOn() {
  if (!closing_ && !backlog_.empty()) ReadBacklog();
  if (!output_.empty() || closing_) carrier_.OutputReady();
}

}  // namespace sluice::api
