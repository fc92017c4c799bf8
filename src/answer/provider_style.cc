#include "answer/provider_style.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>

#include "base/json_writer.h"
#include "base/timestamp.h"
#include "limiter/decision.h"

namespace sluice {
namespace {

using limiter::CheckRequest;

enum class QuantityKind : std::uint8_t { kRequests, kTokens, kInputTokens, kOutputTokens };
constexpr std::size_t kQuantityKinds = 4;

/// What is left of the limit with the least, of those that count the same.
struct Left {
  std::int64_t limit = 0;
  std::int64_t remaining = 0;
  Micros reset{0};
};
using LeftByKind = std::array<std::optional<Left>, kQuantityKinds>;

bool IsOfTokens(std::string_view quantity) {
  return quantity == "tokens" || quantity.ends_with("_tokens");
}

// Nothing: no header describes such limits.
std::optional<QuantityKind> KindOfLimit(const rules::NamedLimit& limit) {
  if (rules::CountsMoney(limit) || limit.limit.algorithm() == Algorithm::kConcurrency) {
    return std::nullopt;
  }
  const std::vector<rules::Weight>* const weights =
      limit.cost.count != nullptr && !limit.cost.count->tiers.empty()
          ? &limit.cost.count->tiers.front().weights
          : nullptr;
  const std::string_view quantity = weights != nullptr && weights->size() == 1
                                        ? std::string_view(weights->front().quantity)
                                        : std::string_view(limit.type);
  if (weights != nullptr && weights->size() > 1) {
    const bool is_of_tokens = std::all_of(weights->begin(), weights->end(), [](const auto& weight) {
      return IsOfTokens(weight.quantity);
    });
    return is_of_tokens ? std::optional(QuantityKind::kTokens) : std::nullopt;
  }
  if (quantity == rules::kRequests) return QuantityKind::kRequests;
  if (quantity == "input_tokens") return QuantityKind::kInputTokens;
  if (quantity == "output_tokens") return QuantityKind::kOutputTokens;
  return IsOfTokens(quantity) ? std::optional(QuantityKind::kTokens) : std::nullopt;
}

void Lower(const Left& left, std::optional<Left>& least) {
  if (!least || left.remaining < least->remaining) least = left;
}

LeftByKind LeftOf(const CheckRequest& check, Micros wait) {
  LeftByKind least;
  for (std::size_t i = 0; i < check.uses().size(); ++i) {
    const rules::NamedLimit* const limit = check.matched(i).limit;
    if (limit == nullptr || limit->reject_all || !IsReported(check, i)) continue;
    const auto kind = KindOfLimit(*limit);
    if (!kind) continue;
    const bool is_tightest = i == check.decision.index;
    const Verdict& verdict = is_tightest ? check.decision.tightest : check.uses()[i].verdict;
    Lower({.limit = verdict.limit,
           .remaining = verdict.remaining,
           .reset = is_tightest ? std::max(verdict.reset_after, wait) : verdict.reset_after},
          least[static_cast<std::size_t>(*kind)]);
  }
  return least;
}

// As Go writes durations: "6m0s", "1.5s", "20ms". Rounded up to milliseconds.
std::string GoDuration(Micros duration) {
  using namespace std::chrono;
  const auto all = ceil<milliseconds>(duration);
  if (all < seconds(1)) {
    return all.count() == 0 ? "0s" : std::to_string(all.count()) + "ms";
  }
  std::string text;
  if (all >= hours(1)) text += std::to_string(floor<hours>(all).count()) + "h";
  if (all >= minutes(1)) text += std::to_string(floor<minutes>(all % hours(1)).count()) + "m";
  text += std::to_string(floor<seconds>(all % minutes(1)).count());
  if (const auto rest = (all % seconds(1)).count(); rest != 0) {
    std::string digits = std::to_string(1000 + rest);
    digits.front() = '.';
    while (digits.back() == '0') digits.pop_back();
    text += digits;
  }
  return text + "s";
}

void AddOpenAi(LeftByKind least, HeaderSink& headers) {
  // Its clients know one kind of tokens.
  std::optional<Left>& tokens = least[static_cast<std::size_t>(QuantityKind::kTokens)];
  for (const QuantityKind kind : {QuantityKind::kInputTokens, QuantityKind::kOutputTokens}) {
    if (const auto& left = least[static_cast<std::size_t>(kind)]) Lower(*left, tokens);
  }
  const auto add = [&](std::string_view kind, const std::optional<Left>& left) {
    if (!left) return;
    const std::string end(kind);
    headers.Add("x-ratelimit-limit-" + end, left->limit);
    headers.Add("x-ratelimit-remaining-" + end, left->remaining);
    headers.Add("x-ratelimit-reset-" + end, GoDuration(left->reset));
  };
  add("requests", least[static_cast<std::size_t>(QuantityKind::kRequests)]);
  add("tokens", tokens);
}

void AddAnthropic(const LeftByKind& least, WallTime now, HeaderSink& headers) {
  constexpr std::array<std::string_view, kQuantityKinds> kNames = {"requests", "tokens",
                                                                   "input-tokens", "output-tokens"};
  for (std::size_t i = 0; i < least.size(); ++i) {
    if (!least[i]) continue;
    const std::string name = "anthropic-ratelimit-" + std::string(kNames[i]);
    const WallTime reset = now + std::min<Micros>(least[i]->reset, kMaxWindow);
    headers.Add(name + "-limit", least[i]->limit);
    headers.Add(name + "-remaining", least[i]->remaining);
    headers.Add(name + "-reset", FormatTimestamp(std::chrono::ceil<std::chrono::seconds>(reset)));
  }
}

// A budget of money is exhausted until it begins anew, which clients should not wait for.
bool IsOutOfMoney(const CheckRequest& check, const HttpAnswer& answer) {
  if (answer.code != ProblemCode::kRateLimitExceeded || check.uses().empty()) return false;
  const rules::NamedLimit* const limit = check.matched(check.decision.index).limit;
  return limit != nullptr && rules::CountsMoney(*limit);
}

std::string_view OpenAiType(const CheckRequest& check, const HttpAnswer& answer) {
  if (IsOutOfMoney(check, answer)) return "insufficient_quota";
  if (answer.status == 429) return "rate_limit_exceeded";
  return answer.status >= 500 ? "server_error" : "permission_denied";
}

std::string_view AnthropicType(const HttpAnswer& answer) {
  if (answer.status == 429) return "rate_limit_error";
  return answer.status >= 500 ? "overloaded_error" : "permission_error";
}

}  // namespace

void AddProviderHeaders(const CheckRequest& check, WallTime now, HeaderStyle style, Micros wait,
                        HeaderSink& headers) {
  const LeftByKind least = LeftOf(check, wait);
  style == HeaderStyle::kOpenAi ? AddOpenAi(least, headers) : AddAnthropic(least, now, headers);
}

void AppendProviderError(const CheckRequest& check, const HttpAnswer& answer, HeaderStyle style,
                         std::string_view message, std::string_view id, std::string& out) {
  const bool is_openai = style == HeaderStyle::kOpenAi;
  const std::string_view type = is_openai ? OpenAiType(check, answer) : AnthropicType(answer);
  if (!is_openai) out += R"("type":"error",)";
  out += R"("error":)";
  JsonWriter json(out);
  json.BeginObject();
  json.Key("type").String(type);
  json.Key("message").String(message);
  if (is_openai) {
    json.Key("param").Null();
    json.Key("code").String(type);
  }
  if (!id.empty()) json.Key("denial_id").String(id);
  json.EndObject();
}

}  // namespace sluice
