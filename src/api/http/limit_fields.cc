#include "api/http/limit_fields.h"

#include "algo/algorithm_info.h"
#include "api/http/call_fields.h"
#include "config_text/rate_text.h"

namespace sluice::api {
namespace {

using std::chrono::seconds;

std::optional<Rate> ReadRate(JsonFields& fields, std::string_view name) {
  if (!fields.Has(name)) {
    fields.Missing(name);
    return std::nullopt;
  }
  const auto per_second = fields.Number(name);
  if (!per_second) return std::nullopt;
  const auto rate =
      per_second->digits > 0 ? config_text::ToRate(*per_second, seconds(1)) : std::optional<Rate>{};
  if (!rate) fields.Fail(ProblemCode::kInvalidLimit, name, "must be tokens per second, above 0");
  return rate;
}

std::optional<std::int64_t> ReadAmount(JsonFields& fields, std::string_view name) {
  if (!fields.Has(name)) {
    fields.Missing(name);
    return std::nullopt;
  }
  return fields.Whole(name, 1, kMaxAmount, ProblemCode::kInvalidLimit);
}

// The limit that is kept under these numbers, or that `make` makes of them. `blamed` is the field
// that is wrong if there is none.
template <typename Make>
std::optional<Limit> KeptOrMade(JsonFields& fields, LimitCache& kept,
                                const LimitCache::Numbers& numbers, std::string_view blamed,
                                Make make) {
  if (const Limit* const found = kept.Find(numbers)) return *found;
  const Result<Limit> limit = make();
  const std::string refusal = limit ? RefusalOf(*limit, kept.bounds()) : limit.error().message;
  if (refusal.empty()) return *kept.Keep(numbers, *limit);
  fields.Fail(ProblemCode::kInvalidLimit, blamed, refusal);
  return std::nullopt;
}

LimitCache::Numbers NumbersOf(Algorithm algorithm, std::int64_t amount, Micros time,
                              std::int64_t other) {
  return {static_cast<std::int64_t>(algorithm), amount, time.count(), other};
}

std::optional<Limit> ReadBucket(JsonFields& fields, LimitCache& kept, Algorithm algorithm) {
  const bool leaky = algorithm == Algorithm::kLeakyBucket;
  const std::string_view rate_name = leaky ? "leak_rate" : "refill_rate";
  if (!fields.Only({"algorithm", "capacity", rate_name})) return std::nullopt;
  const auto capacity = ReadAmount(fields, "capacity");
  const auto rate = ReadRate(fields, rate_name);
  if (!capacity || !rate) return std::nullopt;
  return KeptOrMade(fields, kept, NumbersOf(algorithm, *capacity, rate->period, rate->tokens), "",
                    [&] {
                      return leaky ? Limit::LeakyBucket({.capacity = *capacity, .leak = *rate})
                                   : Limit::TokenBucket({.capacity = *capacity, .refill = *rate});
                    });
}

std::optional<Limit> FindWindow(JsonFields& fields, LimitCache& kept, Algorithm algorithm,
                                std::int64_t limit, Micros window, Anchor anchor,
                                std::string_view blamed) {
  return KeptOrMade(
      fields, kept, NumbersOf(algorithm, limit, window, static_cast<std::int64_t>(anchor)), blamed,
      [&] {
        return Limit::FromNumbers(
            {.algorithm = algorithm, .anchor = anchor, .cap = limit, .window = window});
      });
}

std::optional<Limit> ReadWindow(JsonFields& fields, LimitCache& kept, Algorithm algorithm) {
  if (!fields.Only({"algorithm", "limit", "window"})) return std::nullopt;
  const auto limit = ReadAmount(fields, "limit");
  if (!fields.Has("window")) fields.Missing("window");
  const auto window = fields.Seconds("window");
  if (!limit || !window) return std::nullopt;
  return FindWindow(fields, kept, algorithm, *limit, *window, Anchor::kEpoch, "");
}

std::optional<Limit> ReadConcurrency(JsonFields& fields, LimitCache& kept) {
  if (!fields.Only({"algorithm", "limit", "time_to_live"})) return std::nullopt;
  const auto limit = ReadAmount(fields, "limit");
  ConcurrencySpec spec;
  if (const auto time_to_live = fields.Seconds("time_to_live")) spec.time_to_live = *time_to_live;
  if (!limit || fields.failed()) return std::nullopt;
  spec.limit = *limit;
  return KeptOrMade(fields, kept,
                    NumbersOf(Algorithm::kConcurrency, spec.limit, spec.time_to_live, 0), "",
                    [&] { return Limit::Concurrency(spec); });
}

}  // namespace

std::optional<Limit> ReadLimit(JsonFields& fields, LimitCache& kept) {
  const auto name = fields.Text("algorithm");
  if (!name) {
    if (!fields.failed()) fields.Missing("algorithm");
    return std::nullopt;
  }
  const std::optional<Algorithm> algorithm = algo::FindAlgorithm(*name);
  if (!algorithm) {
    const std::string field = fields.PathOf("algorithm");
    fields.Fail(ProblemCode::kInvalidAlgorithm, "algorithm", BadAlgorithm(field, *name).detail);
    return std::nullopt;
  }
  switch (algo::InfoOf(*algorithm).kind) {
    case algo::AlgorithmKind::kBucket:
      return ReadBucket(fields, kept, *algorithm);
    case algo::AlgorithmKind::kWindow:
      return ReadWindow(fields, kept, *algorithm);
    case algo::AlgorithmKind::kSlots:
      return ReadConcurrency(fields, kept);
  }
  return std::nullopt;
}

std::optional<Limit> MakeDescriptorLimit(JsonFields& fields, LimitCache& kept, std::int64_t limit,
                                         Micros window) {
  return FindWindow(fields, kept, Algorithm::kFixedWindow, limit, window, Anchor::kFirstHit,
                    "limit");
}

}  // namespace sluice::api
