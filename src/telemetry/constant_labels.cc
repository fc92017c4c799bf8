#include "telemetry/constant_labels.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>

#include "base/ascii.h"
#include "base/json_writer.h"
#include "base/utf8.h"

namespace sluice::telemetry {
namespace {

constexpr std::size_t kMaxLabels = 16;
constexpr std::size_t kMaxBytes = 256;

// The page's own, sorted; tests/server/metrics_test.py compares them with pages. `quantile` is a
// summary's.
constexpr std::array<std::string_view, 26> kTaken{
    "algorithm",  "allowed", "bound",    "cohort",   "compiler", "config", "effect",
    "error_type", "hash",    "kind",     "le",       "level",    "limit",  "list",
    "mode",       "outcome", "protocol", "quantile", "reason",   "result", "revision",
    "rule",       "signal",  "state",    "version",  "when_full"};

bool IsLabelName(std::string_view name) {
  const auto fits = [](char c) { return IsLetter(c) || IsDigit(c) || c == '_'; };
  return !name.empty() && std::all_of(name.begin(), name.end(), fits) && !IsDigit(name[0]);
}

bool IsPlain(char c) { return c >= ' ' && c < '\x7F' && c != '"' && c != '\\'; }

void AppendEscaped(std::string_view value, std::string& out) {
  std::string text;
  AppendAsUtf8(value, text);
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
}

Error Refuse(std::string_view name, std::string_view reason) {
  std::string message = "metrics label \"";
  AppendJsonEscaped(name.substr(0, kMaxBytes), message);
  message += "\": ";
  message += reason;
  return {ErrorCode::kInvalidOptions, std::move(message)};
}

}  // namespace

void AppendLabel(std::string_view name, std::string_view value, std::string& out) {
  out += name;
  out += "=\"";
  // Nearly all values are plain, and a page may hold tens of thousands.
  if (std::all_of(value.begin(), value.end(), IsPlain)) {
    out += value;
  } else {
    AppendEscaped(value, out);
  }
  out += '"';
}

Result<ConstantLabels> ConstantLabels::Create(
    std::span<const std::pair<std::string, std::string>> name_values) {
  if (name_values.size() > kMaxLabels) {
    return Error{ErrorCode::kInvalidOptions,
                 "metrics labels: " + std::to_string(name_values.size()) + " of them; at most " +
                     std::to_string(kMaxLabels) + " are possible"};
  }
  ConstantLabels labels;
  std::set<std::string_view> seen;
  for (const auto& [name, value] : name_values) {
    if (!IsLabelName(name)) {
      return Refuse(name, "a name has letters, digits and '_' only, and no digit first");
    }
    if (name.size() > kMaxBytes) return Refuse(name, "a name has at most 256 bytes");
    if (name.starts_with("__")) return Refuse(name, "names with \"__\" in front are Prometheus'");
    if (std::binary_search(kTaken.begin(), kTaken.end(), name)) {
      return Refuse(name, "the metrics use this name themselves; choose another one");
    }
    if (!seen.insert(name).second) return Refuse(name, "is there twice");
    if (value.size() > kMaxBytes) return Refuse(name, "a value has at most 256 bytes");
    if (!IsUtf8(value)) return Refuse(name, "the value is not UTF-8");
    if (!labels.text_.empty()) labels.text_ += ',';
    AppendLabel(name, value, labels.text_);
  }
  return labels;
}

}  // namespace sluice::telemetry
