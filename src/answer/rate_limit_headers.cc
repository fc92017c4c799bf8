#include "answer/rate_limit_headers.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <string>

#include "answer/http_answer.h"
#include "answer/provider_style.h"
#include "base/wide_math.h"
#include "limiter/decision.h"

namespace sluice {
namespace {

using limiter::CheckRequest;

constexpr std::array<std::string_view, kHeaderStyleCount> kStyles = {
    "x-ratelimit", "draft-6", "draft-7", "draft-10", "openai", "anthropic", "none"};

struct Numbers {
  std::int64_t limit = 0;
  std::int64_t remaining = 0;
  Micros reset{0};  ///< From now.
};

// Of a store that failed, only the tightest verdict is known, if anything.
bool IsUseKnown(const CheckRequest& check, std::size_t use) {
  return use == check.decision.index ? IsKnown(check) : !check.degraded;
}

Numbers NumbersOf(const CheckRequest& check, std::size_t use, Micros wait) {
  if (!IsUseKnown(check, use)) {
    return {.limit = limiter::CapOf(check, use), .remaining = -1, .reset = wait};
  }
  const Verdict& verdict =
      use == check.decision.index ? check.decision.tightest : check.uses()[use].verdict;
  return {.limit = verdict.limit,
          .remaining = verdict.remaining,
          .reset = std::max(verdict.reset_after, wait)};
}

// A string of RFC 9651, which is printable ASCII.
void AppendItem(std::string_view text, std::string& out) {
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c < 0x20 || c > 0x7E ? '?' : c;
  }
}

void AppendPolicyName(const CheckRequest& check, std::size_t use, std::string& out) {
  out += '"';
  if (const match::MatchedLimit& matched = check.matched(use); matched.rule != nullptr) {
    AppendItem(matched.rule->id, out);
    out += ':';
    AppendItem(matched.limit->name, out);
  } else {
    // The caller's own: ":limit", ":descriptor"; several of a kind differ by their place.
    AppendItem(check.uses()[use].key.scope.substr(1), out);
    if (use > 0) out += std::to_string(use + 1);
  }
  out += '"';
}

void AppendWindow(const CheckRequest& check, std::size_t use, std::string& out) {
  if (const Micros window = WindowOf(check, use); window > Micros{0}) {
    out += ";w=";
    out += std::to_string(SecondsOf(window));
  }
}

// Drafts 6 and 7: "100;w=60".
std::string PlainPolicies(const CheckRequest& check) {
  std::string policies;
  for (std::size_t i = 0; i < check.uses().size(); ++i) {
    if (!IsReported(check, i)) continue;
    if (!policies.empty()) policies += ", ";
    policies += std::to_string(limiter::CapOf(check, i));
    AppendWindow(check, i, policies);
  }
  return policies;
}

// Draft 10: "burst";q=100;w=60
std::string NamedPolicies(const CheckRequest& check) {
  std::string policies;
  for (std::size_t i = 0; i < check.uses().size(); ++i) {
    if (!IsReported(check, i)) continue;
    if (!policies.empty()) policies += ',';
    AppendPolicyName(check, i, policies);
    policies += ";q=";
    policies += std::to_string(limiter::CapOf(check, i));
    if (check.uses()[i].limit->algorithm() == Algorithm::kConcurrency) {
      policies += ";qu=\"concurrent-requests\"";
    }
    AppendWindow(check, i, policies);
  }
  return policies;
}

void AddX(const Numbers& numbers, WallTime now, HeaderSink& headers) {
  const std::int64_t reset = CeilDiv((now.time_since_epoch() + numbers.reset).count(), 1'000'000);
  headers.Add("X-RateLimit-Limit", numbers.limit);
  headers.Add("X-RateLimit-Remaining", numbers.remaining);
  headers.Add("X-RateLimit-Reset", reset);
}

void AddDraft6(const CheckRequest& check, const Numbers& numbers, HeaderSink& headers) {
  headers.Add("RateLimit-Limit", numbers.limit);
  headers.Add("RateLimit-Remaining", std::max<std::int64_t>(numbers.remaining, 0));
  headers.Add("RateLimit-Reset", SecondsOf(numbers.reset));
  headers.Add("RateLimit-Policy", PlainPolicies(check));
}

void AddDraft7(const CheckRequest& check, const Numbers& numbers, HeaderSink& headers) {
  headers.Add("RateLimit", "limit=" + std::to_string(numbers.limit) + ", remaining=" +
                               std::to_string(std::max<std::int64_t>(numbers.remaining, 0)) +
                               ", reset=" + std::to_string(SecondsOf(numbers.reset)));
  headers.Add("RateLimit-Policy", PlainPolicies(check));
}

void AddDraft10(const CheckRequest& check, std::size_t use, const Numbers& numbers,
                HeaderSink& headers) {
  headers.Add("RateLimit-Policy", NamedPolicies(check));
  std::string limit;
  AppendPolicyName(check, use, limit);
  limit += ";r=" + std::to_string(std::max<std::int64_t>(numbers.remaining, 0)) +
           ";t=" + std::to_string(SecondsOf(numbers.reset));
  headers.Add("RateLimit", limit);
}

}  // namespace

std::string_view NameOf(HeaderStyle style) { return kStyles[static_cast<std::size_t>(style)]; }

std::optional<HeaderStyle> FindHeaderStyle(std::string_view name) {
  for (std::size_t i = 0; i < kStyles.size(); ++i) {
    if (kStyles[i] == name) return static_cast<HeaderStyle>(i);
  }
  return std::nullopt;
}

void AddRateLimitHeaders(const CheckRequest& check, WallTime now, HeaderStyle style, Micros jitter,
                         HeaderSink& headers) {
  Micros wait = WaitOf(check);
  // The end of a block is known exactly.
  if (wait > Micros{0} && check.ruling != Ruling::kBlocked) wait += jitter;
  const std::optional<std::size_t> use = UseInHeaders(check);
  if (style != HeaderStyle::kNone && use) {
    const Numbers numbers = NumbersOf(check, *use, std::max(wait, Micros{0}));
    // The drafts have no way to report a store that failed.
    if (!IsUseKnown(check, *use) || style == HeaderStyle::kXRateLimit) {
      AddX(numbers, now, headers);
      if (wait > Micros{0}) headers.Add("X-RateLimit-Reset-Ms", MillisOf(wait));
    } else if (IsOfProvider(style)) {
      AddProviderHeaders(check, now, style, std::max(wait, Micros{0}), headers);
    } else if (style == HeaderStyle::kDraft6) {
      AddDraft6(check, numbers, headers);
    } else if (style == HeaderStyle::kDraft7) {
      AddDraft7(check, numbers, headers);
    } else {
      AddDraft10(check, *use, numbers, headers);
    }
    if (check.degraded) {
      headers.Add("X-RateLimit-Policy", "degraded");
      headers.Add("X-RateLimit-Degraded", "true");
    }
  }
  if (wait > Micros{0}) headers.Add("Retry-After", SecondsOf(wait));
}

}  // namespace sluice
