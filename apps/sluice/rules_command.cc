#include "rules_command.h"

#include <cstdio>
#include <iostream>
#include <iterator>
#include <string_view>
#include <thread>

#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/read_file.h"
#include "change_text.h"
#include "text_table.h"

namespace sluice::app {
namespace {

using http_client::Request;
using http_client::Response;

constexpr int kSame = 0;
constexpr int kFailed = 1;
constexpr int kDiffers = 2;
constexpr std::string_view kRules = "/admin/v1/rules";
constexpr std::size_t kMaxFileBytes = std::size_t{8} << 20;  // The server has the real limit.
constexpr Micros kPollInterval = std::chrono::milliseconds(100);

// Prints a response with one of the functions of change_text.h, or as JSON.
int Print(const RulesOptions& options, const std::optional<Response>& response,
          void (*append)(const JsonValue&, std::string&)) {
  if (!response) return kFailed;
  if (options.remote.json) {
    PrintBody(*response);
    return 0;
  }
  JsonDocument document;
  const auto body = document.Parse(response->body);
  if (!body) {
    std::fprintf(stderr, "the server's answer is not JSON\n");
    return kFailed;
  }
  std::string text;
  append(*body, text);
  std::fputs(text.c_str(), stdout);
  return 0;
}

std::optional<std::string> ReadDocument(const std::string& file) {
  if (file == "-") {
    return std::string(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
  }
  auto text = ReadFile(file, kMaxFileBytes);
  if (text) return std::move(*text);
  std::fprintf(stderr, "%s: %s\n", file.c_str(), text.error().message.c_str());
  return std::nullopt;
}

std::string_view FileName(const RulesOptions& options) {
  return options.file == "-" ? std::string_view("<stdin>") : std::string_view(options.file);
}

// The entity tag of the current version; nothing: there was an error.
std::optional<std::string> CurrentTag(Remote& remote) {
  const auto current = remote.SendSuccessfully({.target = std::string(kRules)});
  if (!current) return std::nullopt;
  return std::string(current->Header("ETag"));
}

std::string Query(const RulesOptions& options, bool dry_run) {
  std::string query;
  const auto add = [&query](const std::string& parameter) {
    query += (query.empty() ? "?" : "&") + parameter;
  };
  if (dry_run) add("dry_run=1");
  if (options.force) add("force=1");
  if (!options.message.empty()) add("message=" + PercentEncoded(options.message));
  return query;
}

std::optional<Response> Put(const RulesOptions& options, Remote& remote, bool dry_run) {
  const auto text = ReadDocument(options.file);
  if (!text) return std::nullopt;
  std::string tag = options.if_match;
  if (tag.empty()) {
    auto current = CurrentTag(remote);
    if (!current) return std::nullopt;
    tag = std::move(*current);
  }
  // The same key in both tries: if the first was lost on its way back, the second is answered with
  // its result.
  const std::string key = std::to_string(RandomId());
  const Request request{
      .method = "PUT",
      .target = std::string(kRules) + Query(options, dry_run),
      .headers = {{"If-Match", tag}, {"Idempotency-Key", key}},
      .content_type = options.file.ends_with(".json") ? "application/json" : "application/yaml",
      .body = *text};
  auto response = remote.Send(request);
  if (!response) response = remote.Send(request);
  if (!response || response->status / 100 == 2) return response;
  if (options.remote.json) {
    PrintBody(*response);
  } else {
    PrintProblem(*response, FileName(options));
  }
  return std::nullopt;
}

void PrintWarnings(const JsonValue& body, std::string_view file) {
  const auto warnings = body.Find("warnings");
  if (!warnings) return;
  for (const JsonValue warning : *warnings) {
    std::fprintf(stderr, "%s\n",
                 Shown(std::string(file) + ':' + MemberText(warning, "line") + ':' +
                       MemberText(warning, "column") + ": " + MemberText(warning, "message") +
                       " (a warning)")
                     .c_str());
  }
}

// Shows how many nodes have a version, in one line that is rewritten on a terminal.
class NodeProgress {
 public:
  ~NodeProgress() {
    if (shown_) std::fputs("\r\x1b[K", stderr);
  }
  NodeProgress() = default;
  NodeProgress(const NodeProgress&) = delete;
  NodeProgress& operator=(const NodeProgress&) = delete;

  void Show(std::size_t applied, std::size_t of) {
    if (!terminal_) return;
    std::fprintf(stderr, "\r\x1b[Kapplied on %zu of %zu nodes", applied, of);
    std::fflush(stderr);
    shown_ = true;
  }

 private:
  const bool terminal_ = isatty(STDERR_FILENO) == 1;
  bool shown_ = false;
};

struct NodeCount {
  std::size_t applied = 0;
  std::size_t of = 0;
  std::string lagging{};  // One line for each.
};

// Counts the live nodes at a version. Nodes at a later one report another version, too: then the
// version is no longer current, and nothing is left to wait for.
NodeCount CountNodes(const JsonValue& body, const std::string& version) {
  NodeCount count;
  const bool superseded = MemberText(body, "current") != version;
  const auto nodes = body.Find("nodes");
  if (!nodes) return count;
  for (const JsonValue node : *nodes) {
    const std::string state = MemberText(node, "state");
    if (state == "gone" || MemberText(node, "rules_source") == "file") continue;
    ++count.of;
    if (superseded || MemberText(node, "version") == version) {
      ++count.applied;
      continue;
    }
    const std::string error = MemberText(node, "error");
    count.lagging +=
        "  " +
        Shown(MemberText(node, "id") + " (" + MemberText(node, "address") + "): " + state +
              ", has " + MemberText(node, "version") + (error.empty() ? "" : ": " + error)) +
        '\n';
  }
  return count;
}

// Returns the exit code.
int WaitForNodes(Remote& remote, const std::string& version, Micros timeout) {
  const SteadyTime deadline = SteadyClock::Now() + timeout;
  NodeCount count;
  {
    NodeProgress progress;
    while (true) {
      const auto response = remote.SendSuccessfully({.target = "/admin/v1/nodes"});
      if (!response) return kFailed;
      JsonDocument document;
      if (const auto body = document.Parse(response->body)) count = CountNodes(*body, version);
      progress.Show(count.applied, count.of);
      if ((count.of > 0 && count.applied == count.of) || SteadyClock::Now() >= deadline) break;
      std::this_thread::sleep_for(kPollInterval);
    }
  }
  if (count.of > 0 && count.applied == count.of) {
    std::fprintf(stderr, "applied on %zu of %zu nodes\n", count.applied, count.of);
    return 0;
  }
  std::fprintf(stderr, "committed, but applied on %zu of %zu nodes only:\n%s", count.applied,
               count.of, count.lagging.c_str());
  return kFailed;
}

// Prints the result of a change, and waits for the nodes if asked to.
int FinishChange(const RulesOptions& options, Remote& remote, const Response& response) {
  JsonDocument document;
  const auto body = document.Parse(response.body);
  if (!body || !body->is_object()) {
    std::fprintf(stderr, "the server's answer is not JSON\n");
    return kFailed;
  }
  const std::string outcome = MemberText(*body, "outcome");
  const std::string version = MemberText(*body, "version");
  if (options.remote.json) {
    PrintBody(response);
  } else {
    PrintWarnings(*body, FileName(options));
    std::string text;
    AppendDifferenceText(*body, text);
    AppendImpactText(*body, text);
    text += outcome == "unchanged" ? "unchanged: version " + Shown(version) + " has this text\n"
                                   : Shown(outcome) + " as version " + Shown(version) + '\n';
    if (MemberText(*body, "replicated") == "false") {
      text += "no replica of Redis has confirmed it: a failover may lose it\n";
    }
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
  }
  return options.wait ? WaitForNodes(remote, version, *options.wait) : 0;
}

int PrintDryRun(const RulesOptions& options, const Response& response) {
  JsonDocument document;
  const auto body = document.Parse(response.body);
  if (!body || !body->is_object()) {
    std::fprintf(stderr, "the server's answer is not JSON\n");
    return kFailed;
  }
  const bool same = MemberText(*body, "outcome") == "unchanged";
  if (options.remote.json) {
    PrintBody(response);
    return same ? kSame : kDiffers;
  }
  PrintWarnings(*body, FileName(options));
  std::string text;
  AppendDifferenceText(*body, text);
  if (text.empty()) {
    text = same ? "no difference\n" : "no rule changes; comments or formatting differ\n";
  }
  if (!same) AppendImpactText(*body, text);
  std::fputs(text.c_str(), stdout);
  return same ? kSame : kDiffers;
}

}  // namespace

int GetRules(const RulesOptions& options) {
  auto remote = Remote::Create(options.remote);
  if (!remote) return kFailed;
  const auto response = remote->SendSuccessfully(
      {.target = std::string(kRules),
       .headers = {{"Accept", options.remote.json ? "application/json" : "application/yaml"}}});
  if (!response) return kFailed;
  PrintBody(*response);
  return 0;
}

int DiffRules(const RulesOptions& options) {
  auto remote = Remote::Create(options.remote);
  if (!remote) return kFailed;
  const auto response = Put(options, *remote, true);
  return response ? PrintDryRun(options, *response) : kFailed;
}

int ApplyRules(const RulesOptions& options) {
  if (options.dry_run) return DiffRules(options);
  auto remote = Remote::Create(options.remote);
  if (!remote) return kFailed;
  const auto response = Put(options, *remote, false);
  return response ? FinishChange(options, *remote, *response) : kFailed;
}

int ShowRulesHistory(const RulesOptions& options) {
  auto remote = Remote::Create(options.remote);
  if (!remote) return kFailed;
  return Print(options, remote->SendSuccessfully({.target = std::string(kRules) + "/versions"}),
               AppendVersionsText);
}

int ShowRulesVersion(const RulesOptions& options) {
  auto remote = Remote::Create(options.remote);
  if (!remote) return kFailed;
  return Print(options,
               remote->SendSuccessfully(
                   {.target = std::string(kRules) + "/versions/" + PercentEncoded(options.version),
                    .headers = {{"Accept", "application/json"}}}),
               [](const JsonValue& body, std::string& text) { text = MemberText(body, "text"); });
}

int RestoreRules(const RulesOptions& options) {
  auto remote = Remote::Create(options.remote);
  if (!remote) return kFailed;
  const auto response = remote->SendSuccessfully(
      {.method = "POST",
       .target = std::string(kRules) + "/versions/" + PercentEncoded(options.version) + "/restore" +
                 Query(options, false),
       .headers = {{"Idempotency-Key", std::to_string(RandomId())}}});
  return response ? FinishChange(options, *remote, *response) : kFailed;
}

int ShowNodes(const RulesOptions& options) {
  auto remote = Remote::Create(options.remote);
  if (!remote) return kFailed;
  return Print(options, remote->SendSuccessfully({.target = "/admin/v1/nodes"}), AppendNodesText);
}

}  // namespace sluice::app
