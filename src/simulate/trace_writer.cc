#include "simulate/trace_writer.h"

#include <array>
#include <cstddef>

#include "base/fingerprint.h"
#include "base/json_writer.h"
#include "base/random.h"
#include "base/timestamp.h"

namespace sluice::simulate {
namespace {

constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kHashDigits = 32;

}  // namespace

TraceWriter::TraceWriter(const TraceWriterOptions& options)
    : options_(options),
      secret_(options.secret.empty() ? RandomBytes(kSecretBytes) : options.secret) {}

std::string TraceWriter::HashOf(std::string_view key) const {
  return "key:" + Fingerprint(secret_ + std::string(key)).substr(0, kHashDigits);
}

void TraceWriter::Append(const TraceRow& row, std::string& out) {
  JsonWriter json(out);
  json.BeginObject();
  json.Key("time").String(FormatTimestamp(row.time));
  if (row.cost != 1) json.Key("cost").Int(row.cost);
  json.Key("attributes").BeginObject();
  if (options_.keys == KeyText::kHashed) {
    AppendHashed(row, json);
  } else {
    for (const auto& [name, value] : row.attributes) json.Key(name).String(value);
  }
  json.EndObject();
  json.EndObject();
  out += '\n';
}

void TraceWriter::AppendHashed(const TraceRow& row, JsonWriter& json) {
  bool keeps_key = true;
  std::string_view tier;
  if (options_.rules != nullptr) {
    options_.rules->Find(row.attributes, row.cost, row.time, match_);
    keeps_key = match_.has_known_key();
    tier = match_.tier();
    if (!tier.empty()) json.Key("tier").String(tier);
  }
  for (const auto& [name, value] : row.attributes) {
    if (name == "api_key") {
      if (keeps_key && !value.empty()) json.Key(name).String(HashOf(value));
    } else if (name != "api_key_hash" && (name != "tier" || tier.empty())) {
      // The server's hash is left out: it may be one without a secret.
      json.Key(name).String(value);
    }
  }
}

std::string WriteTrace(const TrafficSample& sample, const TraceWriterOptions& options) {
  TraceWriter writer(options);
  std::string out;
  SampledCall call;
  for (std::size_t i = 0; i < sample.calls(); ++i) {
    sample.Read(i, call);
    writer.Append(call.row, out);
  }
  return out;
}

}  // namespace sluice::simulate
