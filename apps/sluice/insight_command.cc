#include "insight_command.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/json_reader.h"
#include "base/key.h"
#include "base/parse_number.h"
#include "text_table.h"

namespace sluice::app {
namespace {

constexpr int kCommandFailed = 1;
// The most earlier denials that a server sends before it follows.
constexpr std::size_t kMostReplayed = 1000;
constexpr Micros kReconnectPause = std::chrono::seconds(1);

class Target {
 public:
  explicit Target(std::string path) : text_(std::move(path)) {}

  Target& Add(std::string_view name, std::string_view value) {
    if (value.empty()) return *this;
    text_.append(has_query_ ? "&" : "?").append(name).append("=");
    AppendPercentEncoded(value, text_);
    has_query_ = true;
    return *this;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
  bool has_query_ = false;
};

int RefuseAnswer() {
  std::fprintf(stderr, "the server's answer is not JSON\n");
  return kCommandFailed;
}

std::string PercentOf(const std::string& share) {
  const double value = std::strtod(share.c_str(), nullptr) * 100;
  return std::to_string(std::llround(value)) + " %";
}

void PrintTop(const JsonValue& body, const TopOptions& options) {
  TextTable table({TextTable::Align::kRight, TextTable::Align::kRight, TextTable::Align::kRight,
                   TextTable::Align::kLeft, TextTable::Align::kLeft});
  table.Add({options.by == "utilization" ? "calls" : options.by, "error", "used", "rule", "key"});
  const auto rows = body.Find("rows");
  std::size_t count = 0;
  if (rows) {
    for (const JsonValue row : *rows) {
      ++count;
      const std::string error = MemberText(row, "error");
      table.Add({MemberText(row, "count"), error == "0" ? "" : "± " + error,
                 PercentOf(MemberText(row, "utilization")), Shown(MemberText(row, "rule")),
                 Shown(MemberText(row, "key"))});
    }
  }
  if (count == 0) {
    std::printf("no calls in the last %s\n", options.window.c_str());
    return;
  }
  std::string text;
  table.Print(0, text);
  std::fputs(text.c_str(), stdout);
}

// "2026-11-15T12:00:00Z  search (100 per minute)  alice  passes in 1.2 s  <id>"
void PrintDenial(const JsonValue& denial) {
  std::string line = MemberText(denial, "time") + "  " + MemberText(denial, "outcome");
  if (const std::string rule = MemberText(denial, "rule"); !rule.empty()) {
    line += "  " + rule;
    if (const std::string limit = MemberText(denial, "limit"); !limit.empty()) {
      line += " (" + limit + ")";
    }
    line += "  " + MemberText(denial, "key");
    const std::string wait = MemberText(denial, "retry_after_ms");
    line += wait == "-1" ? "  never passes" : "  passes in " + wait + " ms";
  }
  if (const auto attributes = denial.Find("attributes")) {
    for (const JsonValue attribute : *attributes) {
      line.append("  ").append(attribute.name()).append("=");
      line.append(attribute.String().value_or(""));
    }
  }
  if (const std::string id = MemberText(denial, "id"); !id.empty()) line += "  " + id;
  std::printf("%s\n", Shown(line).c_str());
}

// Prints denials, which arrive as lines of JSON in parts of any size.
class DenialPrinter {
 public:
  explicit DenialPrinter(bool json) : json_(json) {}

  // False: a line is not JSON, or nobody reads the output any more.
  bool Print(std::string_view part) {
    rest_.append(part);
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = rest_.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      is_json_ = PrintLine(std::string_view(rest_).substr(begin, end - begin));
      if (!is_json_) return false;
    }
    rest_.erase(0, begin);
    return std::fflush(stdout) == 0;
  }
  [[nodiscard]] bool is_json() const { return is_json_; }
  // The sequence number of the last denial.
  [[nodiscard]] std::uint64_t last() const { return last_; }
  // Forgets a line that did not end: its connection has.
  void Interrupt() { rest_.clear(); }

 private:
  // Empty lines show that the server is there.
  bool PrintLine(std::string_view line) {
    if (line.empty()) return true;
    JsonDocument document;
    const auto denial = document.Parse(line);
    if (!denial || !denial->is_object()) return false;
    const auto sequence = ParseNumber<std::uint64_t>(MemberText(*denial, "sequence"));
    if (!sequence) {
      // The end of a list, or denials that were too many to send.
      const std::string dropped = MemberText(*denial, "dropped");
      if (!denial->Find("last") && !dropped.empty()) {
        std::fprintf(stderr, "%s denials are not shown: there were too many\n",
                     Shown(dropped).c_str());
      }
      return true;
    }
    last_ = *sequence;
    if (json_) {
      std::printf("%.*s\n", static_cast<int>(line.size()), line.data());
    } else {
      PrintDenial(*denial);
    }
    return true;
  }

  const bool json_;
  bool is_json_ = true;
  std::uint64_t last_ = 0;
  std::string rest_;
};

}  // namespace

int ShowTop(const TopOptions& options) {
  auto remote = Remote::Create(options.remote);
  if (!remote) return kCommandFailed;
  Target target("/admin/v1/top");
  target.Add("by", options.by).Add("window", options.window).Add("rule", options.rule);
  target.Add("limit", std::to_string(options.limit));
  target.Add("scope", options.cluster ? "cluster" : "node");
  const auto response = remote->SendSuccessfully({.target = target.text()});
  if (!response) return kCommandFailed;
  if (options.remote.json) {
    PrintBody(*response);
    return 0;
  }
  JsonDocument document;
  const auto body = document.Parse(response->body);
  if (!body || !body->is_object()) return RefuseAnswer();
  PrintTop(*body, options);
  return 0;
}

// A server ends a stream after an hour, or when it shuts down: then it is asked again for what
// follows.
int TailDenials(const TailOptions& options) {
  auto remote = Remote::Create(options.remote);
  if (!remote) return kCommandFailed;
  DenialPrinter printer(options.remote.json);
  std::size_t last = options.no_follow ? options.last : std::min(options.last, kMostReplayed);
  for (;;) {
    Target target("/admin/v1/denials");
    target.Add("follow", options.no_follow ? "0" : "1");
    target.Add("rule", options.rule).Add("key", options.key);
    target.Add("last", std::to_string(last)).Add("after", std::to_string(printer.last()));
    const auto response = remote->StreamSuccessfully(
        {.target = target.text(), .headers = {{"Accept", "application/x-ndjson"}}},
        [&printer](std::string_view part) { return printer.Print(part); });
    if (!printer.is_json()) return RefuseAnswer();
    if (!response || std::ferror(stdout) != 0) return kCommandFailed;
    if (options.no_follow) return 0;
    printer.Interrupt();
    if (printer.last() > 0) last = kMostReplayed;
    std::this_thread::sleep_for(kReconnectPause);
  }
}

int ExplainDenial(const WhyOptions& options) {
  auto remote = Remote::Create(options.remote);
  if (!remote) return kCommandFailed;
  std::string target = "/admin/v1/denials/";
  AppendPercentEncoded(options.id, target);
  const auto response = remote->SendSuccessfully({.target = target});
  if (!response) return kCommandFailed;
  if (options.remote.json) {
    PrintBody(*response);
    return 0;
  }
  JsonDocument document;
  const auto body = document.Parse(response->body);
  if (!body || !body->is_object()) return RefuseAnswer();
  const auto numbers = body->Find("numbers");
  const auto rules = body->Find("rules");
  TextTable table({TextTable::Align::kLeft, TextTable::Align::kLeft});
  const auto add = [&table](std::string name, const std::string& value) {
    table.Add({std::move(name), value.empty() ? "unknown here" : Shown(value)});
  };
  add("time", MemberText(*body, "time"));
  add("rule", MemberText(*body, "rule"));
  add("limit", MemberText(*body, "limit"));
  if (rules) add("rules version", MemberText(*rules, "version"));
  if (numbers) {
    table.Add({"numbers", "limit " + MemberText(*numbers, "limit") + ", remaining " +
                              MemberText(*numbers, "remaining") + ", cost " +
                              MemberText(*numbers, "cost")});
  }
  const std::string passes_at = MemberText(*body, "passes_at");
  table.Add({"would have passed",
             passes_at.empty() ? "never: the cost exceeds the limit" : Shown(passes_at)});
  if (MemberText(*body, "degraded") == "true") table.Add({"decided", "without the store"});
  std::string text;
  table.Print(0, text);
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace sluice::app
