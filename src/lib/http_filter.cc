#include <string>
#include <utility>
#include <vector>

#include <sluice/http_filter.h>

#include "answer/denial.h"
#include "answer/http_answer.h"
#include "answer/problem.h"
#include "answer/rate_limit_headers.h"
#include "base/ascii.h"
#include "base/clock.h"
#include "base/header_sink.h"
#include "base/url.h"
#include "base/url_path.h"
#include "identity/forwarded.h"
#include "identity/identifier.h"
#include "lib/limiter_parts.h"
#include "lib/rules_in_force.h"
#include "match/rule_set.h"
#include "rules/endpoint_case.h"

namespace sluice {
namespace {

using identity::IdentityOptions;
using limiter::CheckRequest;

class VerdictHeaders final : public HeaderSink {
 public:
  explicit VerdictHeaders(HttpVerdict& verdict) : verdict_(verdict) {}

  // A rule may name a header twice, in upper and lower case: the last counts.
  HeaderSink& Add(std::string_view name, std::string_view value) override {
    std::string clean(value);
    for (char& c : clean) c = IsControl(c) ? ' ' : c;
    for (auto& [known, its_value] : verdict_.headers) {
      if (!EqualIgnoringCase(known, name)) continue;
      its_value = std::move(clean);
      return *this;
    }
    verdict_.headers.emplace_back(name, std::move(clean));
    return *this;
  }
  HeaderSink& Add(std::string_view name, std::int64_t value) override {
    return Add(name, std::to_string(value));
  }

 private:
  HttpVerdict& verdict_;
};

/// Per-thread buffers of a call, reused.
struct ThreadBuffers {
  identity::Caller caller;
  std::vector<Attribute> attributes;
  std::string path;
};

ThreadBuffers& BuffersOfThread() {
  thread_local ThreadBuffers buffers;
  return buffers;
}

Result<identity::JwtOptions> TokensOf(const HttpTokenOptions& options) {
  auto from = identity::ParseSource(options.from);
  if (!from) return from.error();
  identity::JwtOptions jwt{
      .from = *std::move(from), .key_files = options.key_files, .secret_file = options.secret_file};
  jwt.rules.unverified = options.unverified;
  jwt.rules.claims.clear();
  for (const auto& [claim, attribute] : options.claims) {
    jwt.rules.claims.push_back({claim, attribute});
  }
  jwt.rules.issuer = options.issuer;
  jwt.rules.audience = options.audience;
  jwt.rules.require_expiry = options.require_expiry;
  jwt.rules.leeway = options.leeway;
  if (options.anonymous_if_invalid) jwt.on_invalid = identity::OnInvalidToken::kAnonymous;
  return jwt;
}

Result<IdentityOptions> IdentityOf(const HttpFilterOptions& options) {
  IdentityOptions identity{.sources = {},
                           .trusted_proxies = options.trusted_proxies,
                           .ipv6_prefix = options.ipv6_prefix,
                           .hash_keys = options.hash_keys,
                           .hash_secret = options.hash_secret};
  for (const std::string& text : options.sources) {
    auto source = identity::ParseSource(text);
    if (!source) return source.error();
    identity.sources.push_back(*std::move(source));
  }
  const auto header = identity::ParseAddressHeader(options.address_header);
  if (!header) {
    return Error{ErrorCode::kInvalidOptions,
                 "\"" + options.address_header +
                     "\" is no header of addresses; there is x-forwarded-for, x-real-ip, "
                     "forwarded and none"};
  }
  identity.address_header = *header;
  auto tokens = TokensOf(options.jwt);
  if (!tokens) return tokens.error();
  identity.jwt = *std::move(tokens);
  return identity;
}

// A link-local address may end with its zone. An invalid address is the unspecified one, which is
// never trusted.
std::optional<Address> PeerOf(std::string_view peer) {
  if (peer.empty()) return std::nullopt;
  return identity::ParseForwardedFor(peer.substr(0, peer.find('%'))).value_or(Address{});
}

bool PrefersProblems(const identity::Headers& headers) {
  std::size_t at = 0;
  std::string_view value;
  while (headers.Next("accept", at, value)) {
    if (value.find(kProblemType) != std::string_view::npos) return true;
  }
  return false;
}

void Refuse(const Problem& problem, HttpVerdict& verdict) {
  verdict.status = KindOf(problem.code).status;
  verdict.content_type = kProblemType;
  AppendProblem(problem, verdict.body);
}

void RefuseCaller(identity::Outcome outcome, std::string_view why, HttpVerdict& verdict) {
  const bool is_token = outcome == identity::Outcome::kBadToken;
  if (is_token) verdict.headers.emplace_back("WWW-Authenticate", kInvalidTokenChallenge);
  Refuse({.code = is_token ? ProblemCode::kInvalidToken : ProblemCode::kInvalidKey,
          .detail = std::string(why)},
         verdict);
}

}  // namespace

struct HttpFilter::Impl {
  Limiter::Impl& limiter;
  std::shared_ptr<Rules::Impl> rules;
  identity::Identifier identifier;
  HeaderStyle style;
  PathFolding fold_paths;
  const Clock& clock;

  const CheckRequest& Check(const HttpCall& call, const RequestTarget& target,
                            const identity::Headers& headers, ThreadBuffers& buffers) const;
  void Respond(const CheckRequest& check, const identity::Headers& headers, WallTime now,
               HttpVerdict& verdict) const;
};

const CheckRequest& HttpFilter::Impl::Check(const HttpCall& call, const RequestTarget& target,
                                            const identity::Headers& headers,
                                            ThreadBuffers& buffers) const {
  buffers.path.resize(std::max(buffers.path.size(), target.path.size() + 1));
  std::size_t at = 0;
  std::string_view host = target.host;
  // In rules the first attribute of a name counts.
  buffers.attributes.assign(call.attributes.begin(), call.attributes.end());
  const auto found = buffers.caller.attributes();
  buffers.attributes.insert(buffers.attributes.end(), found.begin(), found.end());
  buffers.attributes.push_back({"endpoint", NormalizePath(target.path, buffers.path, fold_paths)});
  buffers.attributes.push_back({"method", call.method});
  if (!host.empty() || headers.Next("host", at, host)) buffers.attributes.push_back({"host", host});
  RulesOfThread& of_thread = RulesOfThread::For(rules->live, rules);
  limiter.Decide(of_thread, store::Operation::kCheck, buffers.attributes, call.cost);
  return of_thread.check;
}

void HttpFilter::Impl::Respond(const CheckRequest& check, const identity::Headers& headers,
                               WallTime now, HttpVerdict& verdict) const {
  const HttpAnswer answer = AnswerTo(check);
  verdict.ruling = check.ruling;
  verdict.degraded = check.degraded;
  verdict.passes = answer.status == 200;
  if (answer.is_problem) {
    // Unknown; a second is as good as any.
    if (answer.status == 503) verdict.headers.emplace_back("Retry-After", "1");
    return Refuse(ProblemOf(check, answer), verdict);
  }
  VerdictHeaders sink(verdict);
  AddRateLimitHeaders(check, now, style, Micros{0}, sink);
  if (!verdict.passes) {
    const Denial denial(check, answer, PrefersProblems(headers), {}, style);
    denial.AddHeaders(sink);
    verdict.status = denial.status();
    verdict.content_type = denial.content_type();
    return denial.AppendBody(now, verdict.body);
  }
  for (std::size_t i = 0; i < check.uses().size(); ++i) {
    const store::KeyUse& use = check.uses()[i];
    verdict.delay = std::max(verdict.delay, use.verdict.delay);
    if (use.receipt.slot != 0) verdict.slots.push_back(StatusOf(check, i));
  }
}

Result<HttpFilter> HttpFilter::Make(Limiter& limiter, const Rules& rules,
                                    const HttpFilterOptions& options) {
  auto identity = IdentityOf(options);
  if (!identity) return identity.error();
  auto identifier = identity::Identifier::Make(*std::move(identity));
  if (!identifier) return identifier.error();
  const auto style = FindHeaderStyle(options.header_style);
  if (!style) {
    return Error{ErrorCode::kInvalidOptions,
                 "\"" + options.header_style +
                     "\" is no style of headers; there is x-ratelimit, draft-6, draft-7, draft-10, "
                     "openai, anthropic and none"};
  }
  const auto fold_paths = ParsePathFolding(options.fold_paths);
  if (!fold_paths) {
    return Error{ErrorCode::kInvalidOptions,
                 "fold_paths can have case, parameters and trailing_dots, and nothing else"};
  }
  if (fold_paths->letter_case) {
    const auto active = rules.impl_->live.Active().value;
    const auto warnings = rules::WarnOfUpperCaseEndpoints("rules", active->file());
    if (!warnings.empty())
      return Error{ErrorCode::kInvalidOptions, config_text::Describe(warnings.front())};
  }
  const Clock& clock = options.clock != nullptr ? *options.clock : TheSystemClock();
  return HttpFilter(std::make_unique<Impl>(*limiter.impl_, rules.impl_, *std::move(identifier),
                                           *style, *fold_paths, clock));
}

HttpFilter::HttpFilter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpFilter::HttpFilter(HttpFilter&&) noexcept = default;
HttpFilter& HttpFilter::operator=(HttpFilter&&) noexcept = default;
HttpFilter::~HttpFilter() = default;

HttpVerdict HttpFilter::Check(const HttpCall& call) {
  ThreadBuffers& buffers = BuffersOfThread();
  const identity::HeaderSpan<HttpField> headers(call.headers);
  const RequestTarget target = SplitTarget(call.target);
  const WallTime now = impl_->clock.Now();
  HttpVerdict verdict;
  const identity::Outcome outcome = impl_->identifier.Identify(
      {.peer = PeerOf(call.peer), .headers = headers, .query = target.query}, now, buffers.caller);
  if (outcome != identity::Outcome::kKnown) {
    RefuseCaller(outcome, buffers.caller.problem(), verdict);
    return verdict;
  }
  impl_->Respond(impl_->Check(call, target, headers, buffers), headers, now, verdict);
  return verdict;
}

void HttpFilter::Finish(const HttpVerdict& verdict) {
  for (const RuleStatus& slot : verdict.slots) {
    store::KeyUse use = UseOf(slot);
    impl_->limiter.Affects(store::Operation::kRelease, use);
  }
}

}  // namespace sluice
