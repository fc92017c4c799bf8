#include "api/limit_fields.h"

#include "api/call_fields.h"

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
      per_second->digits > 0 ? rules::ToRate(*per_second, seconds(1)) : std::optional<Rate>{};
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

std::optional<Limit> Made(JsonFields& fields, const Result<Limit>& limit) {
  if (limit) return *limit;
  fields.Fail(ProblemCode::kInvalidLimit, "", limit.error().message);
  return std::nullopt;
}

std::optional<Limit> ReadBucket(JsonFields& fields, Algorithm algorithm) {
  const bool leaky = algorithm == Algorithm::kLeakyBucket;
  const std::string_view rate_name = leaky ? "leak_rate" : "refill_rate";
  if (!fields.Only({"algorithm", "capacity", rate_name})) return std::nullopt;
  const auto capacity = ReadAmount(fields, "capacity");
  const auto rate = ReadRate(fields, rate_name);
  if (!capacity || !rate) return std::nullopt;
  return Made(fields, leaky ? Limit::LeakyBucket({.capacity = *capacity, .leak = *rate})
                            : Limit::TokenBucket({.capacity = *capacity, .refill = *rate}));
}

std::optional<Limit> ReadWindow(JsonFields& fields, Algorithm algorithm) {
  if (!fields.Only({"algorithm", "limit", "window"})) return std::nullopt;
  const auto limit = ReadAmount(fields, "limit");
  if (!fields.Has("window")) fields.Missing("window");
  const auto window = fields.Seconds("window");
  if (!limit || !window) return std::nullopt;
  switch (algorithm) {
    case Algorithm::kFixedWindow:
      return Made(fields, Limit::FixedWindow({.limit = *limit, .window = *window}));
    case Algorithm::kSlidingWindowLog:
      return Made(fields, Limit::SlidingWindowLog({.limit = *limit, .window = *window}));
    default:
      return Made(fields, Limit::SlidingWindowCounter({.limit = *limit, .window = *window}));
  }
}

std::optional<Limit> ReadConcurrency(JsonFields& fields) {
  if (!fields.Only({"algorithm", "limit", "time_to_live"})) return std::nullopt;
  const auto limit = ReadAmount(fields, "limit");
  ConcurrencySpec spec;
  if (const auto time_to_live = fields.Seconds("time_to_live")) spec.time_to_live = *time_to_live;
  if (!limit || fields.failed()) return std::nullopt;
  spec.limit = *limit;
  return Made(fields, Limit::Concurrency(spec));
}

}  // namespace

std::optional<Limit> ReadLimit(JsonFields& fields) {
  const auto name = fields.Text("algorithm");
  if (!name) {
    if (!fields.failed()) fields.Missing("algorithm");
    return std::nullopt;
  }
  const std::optional<Algorithm> algorithm = FindAlgorithm(*name);
  if (!algorithm) {
    const std::string field = fields.PathOf("algorithm");
    fields.Fail(ProblemCode::kInvalidAlgorithm, "algorithm", BadAlgorithm(field, *name).detail);
    return std::nullopt;
  }
  switch (*algorithm) {
    case Algorithm::kTokenBucket:
    case Algorithm::kLeakyBucket:
      return ReadBucket(fields, *algorithm);
    case Algorithm::kConcurrency:
      return ReadConcurrency(fields);
    default:
      return ReadWindow(fields, *algorithm);
  }
}

}  // namespace sluice::api
