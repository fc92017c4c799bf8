#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "api/admin/admin_services.h"
#include "api/admin/entry_change.h"
#include "api/admin/rule_tasks.h"
#include "api/resp/commands.h"
#include "base/ascii.h"
#include "base/json_writer.h"
#include "base/utf8.h"
#include "resp/encoder.h"

/// SLUICE.ENTRY: blocks callers, and removes their blocks.
namespace sluice::api {
namespace {

constexpr std::int64_t kLongestBlock = std::int64_t{100} * 365 * 24 * 3600;

/// The arguments of one command.
struct BlockArguments {
  std::vector<std::pair<std::string, std::string>> attributes{};
  std::int64_t seconds = 0;  ///< 0: as long as entries last without an expiry.
  bool never = false;
  std::int64_t status = match::Entry::kForbidden;
  std::string reason{};
};

bool FailEntry(std::string_view error, std::string& out) {
  resp::AppendError(out, "ERR " + std::string(error));
  return false;
}

// Options come last, attributes first: an attribute may be called like an option.
bool ReadEntryArguments(RespArguments arguments, bool blocks, BlockArguments& read,
                        std::string& out) {
  std::size_t at = 2;
  const auto is_option = [&](std::string_view name) {
    return blocks && !read.attributes.empty() && arguments[at] == name;
  };
  while (at < arguments.size()) {
    if (is_option("NEVER")) {
      read.never = true;
      ++at;
      continue;
    }
    if (at + 1 == arguments.size()) {
      return FailEntry("attributes and options come as name and value: '" +
                           std::string(Quotable(arguments[at])) + "' has no value",
                       out);
    }
    const std::string_view value = arguments[at + 1];
    if (is_option("EX")) {
      if (!ReadBounded("EX", value, 1, kLongestBlock, read.seconds, out)) return false;
    } else if (is_option("STATUS")) {
      if (!ReadBounded("STATUS", value, 403, 429, read.status, out)) return false;
    } else if (is_option("REASON")) {
      read.reason = value;
    } else {
      read.attributes.emplace_back(arguments[at], value);
    }
    at += 2;
  }
  for (const auto& [name, value] : read.attributes) {
    // Entries are stored as JSON: other bytes would become another value.
    if (!IsUtf8(name) || !IsUtf8(value)) return FailEntry("an attribute is not UTF-8", out);
  }
  if (read.attributes.empty()) return FailEntry("attributes are missing", out);
  if (read.never && read.seconds > 0) return FailEntry("EX and NEVER can't be combined", out);
  return true;
}

std::string BlockText(const BlockArguments& read) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject().Key("match").BeginObject();
  for (const auto& [name, value] : read.attributes) {
    // Exactly this value, whatever characters it has; of `ip` also a network.
    json.Key(name);
    if (name == "ip") {
      json.String(value);
    } else {
      json.BeginObject().Key("equals").String(value).EndObject();
    }
  }
  json.EndObject().Key("effect").String("block").Key("status").Int(read.status);
  json.Key("reason").String(read.reason);
  if (read.never) json.Key("expires_at").Null();
  if (read.seconds > 0) json.Key("expires_in").String(std::to_string(read.seconds) + "s");
  json.EndObject();
  return text;
}

void AppendProblemError(const Problem& problem, std::string& out) {
  const ProblemKind& kind = KindOf(problem.code);
  std::string message(problem.code == ProblemCode::kForbidden ? "NOPERM " : "ERR ");
  message.append(kind.name).append(": ");
  if (!problem.field.empty()) message.append(problem.field).append(": ");
  message.append(problem.detail.empty() ? kind.meaning : std::string_view(problem.detail));
  resp::AppendError(out, message);
}

// The state of a command until it is answered.
struct PendingEntry {
  EntryContext context;
  EntryChangeRequest request;
  std::string id;
  std::string reply;
};

void Change(ControlServices& services, PendingEntry& pending) {
  const bool blocks = !pending.request.put.empty();
  const EntryChangeReply changed = ChangeEntries(services, pending.context, pending.request);
  if (!blocks && changed.problem && changed.problem->code == ProblemCode::kEntryNotFound) {
    return resp::AppendInteger(pending.reply, 0);
  }
  if (changed.problem) return AppendProblemError(*changed.problem, pending.reply);
  blocks ? resp::AppendBulk(pending.reply, pending.id) : resp::AppendInteger(pending.reply, 1);
}

}  // namespace

bool BeginEntryCommand(RespClient& client, RespArguments arguments, RespWork& work,
                       std::string& out) {
  const bool blocks = EqualIgnoringCase(arguments[1], "block");
  if (!blocks && !EqualIgnoringCase(arguments[1], "unblock")) {
    AppendUnknownSubcommand("SLUICE.ENTRY", arguments[1], out);
    return false;
  }
  BlockArguments read;
  if (!ReadEntryArguments(arguments, blocks, read, out)) return false;
  RuleTasks* const tasks = client.services.admin().rule_tasks();
  if (tasks == nullptr) return FailEntry("this server has no control store", out);
  const auto pending = std::make_shared<PendingEntry>();
  const identity::PrincipalPointer principal = client.principal();
  pending->context =
      MakeEntryContext(client.services, *principal, OriginOf(*principal, client.peer));
  pending->id = match::BlockIdOf(read.attributes);
  if (blocks) {
    JsonDocument document;
    const std::string text = BlockText(read);
    const auto json = document.Parse(text);
    match::EntryReadResult entry =
        match::ReadEntry(pending->id, *json, pending->context.Defaults());
    if (!entry.entry) {
      AppendProblemError(ProblemOf(entry.error), out);
      return false;
    }
    pending->request.put.push_back(*std::move(entry.entry));
  } else {
    pending->request.remove.push_back(pending->id);
  }
  work.start = [tasks, pending](std::function<void(std::string reply)> done) {
    tasks->Run(
        TaskKind::kRecords, [pending](ControlServices& services) { Change(services, *pending); },
        [pending, done = std::move(done)](bool ran) {
          if (!ran) resp::AppendError(pending->reply, "BUSY too many changes wait: try again");
          done(std::move(pending->reply));
        });
  };
  return true;
}

}  // namespace sluice::api
