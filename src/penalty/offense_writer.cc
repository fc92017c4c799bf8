#include "penalty/offense_writer.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/duration.h"
#include "match/entry_text.h"
#include "penalty/policy.h"

namespace sluice::penalty {
namespace {

using control::RecordKind;
using control::RecordWrite;
using match::Entry;

std::string ReasonOf(const Offense& offense) {
  const rules::Penalty& penalty = offense.strike.penalty;
  const bool by_denials = offense.kind == OffenseKind::kDenials;
  return std::to_string(by_denials ? penalty.denials : penalty.ignored_backoff) +
         (by_denials ? " denials" : " calls before the time of Retry-After") + " within " +
         FormatDuration(penalty.within) + " by rule " + offense.strike.rule;
}

}  // namespace

Entry EntryOf(const Offense& offense, const NextPenalty& next, WallTime now,
              const std::string& rules_version) {
  const rules::Penalty& penalty = offense.strike.penalty;
  Entry entry = offense.strike.offender;
  if (penalty.factor) {
    entry.effect = match::EntryEffect::kMultiply;
    entry.factor = *penalty.factor;
  }
  entry.status = penalty.status;
  entry.reason = ReasonOf(offense).substr(0, match::kMaxEntryReason);
  entry.author = "sluice";
  entry.created = now;
  entry.expires_at = next.until;
  entry.penalty->rule = offense.strike.rule;
  entry.penalty->rules_version = rules_version;
  entry.penalty->step = next.step;
  entry.penalty->offenses = next.offenses;
  entry.penalty->forgotten_at = next.forgotten_at;
  entry.penalty->shadow = penalty.shadow;
  return entry;
}

OffenseWriter::Prepared OffenseWriter::Prepare(const Offense& offense, WallTime now,
                                               const std::string& rules_version,
                                               RecordWrite& write) const {
  const std::string& id = offense.strike.offender.id;
  const auto record = records_.Find(RecordKind::kPenalty, id);
  std::optional<PastPenalty> past;
  if (record) {
    const match::EntryReadResult read = match::ReadStoredEntry(id, record->text);
    if (read.entry && read.entry->penalty) {
      past = PastPenalty{.step = read.entry->penalty->step,
                         .offenses = read.entry->penalty->offenses,
                         .until = read.entry->expires_at};
    }
  }
  // Counted before the node learned of the last penalty: these strikes belong to that one.
  if ((past ? past->offenses : 0) != offense.offenses) return Prepared::kVoid;
  const auto next = PenaltyAfter(past, offense.strike.penalty, now, options_.random());
  if (!next) return Prepared::kVoid;
  const Entry entry = EntryOf(offense, *next, now, rules_version);
  write = {.kind = RecordKind::kPenalty,
           .id = id,
           .text = match::StoredText(entry),
           .expires_at = next->forgotten_at,
           .expected = record ? record->sequence : 0};
  // A key may have bytes that change on the way. One that can't be stored must not spoil the
  // others of its write.
  const match::EntryReadResult read = match::ReadStoredEntry(id, write.text);
  const bool is_stored = read.entry && read.entry->match == entry.match &&
                         read.entry->rule == entry.rule &&
                         write.text.size() <= control::kMaxRecordBytes;
  return is_stored && entries_.TakesPenalty(entry) ? Prepared::kReady : Prepared::kRefused;
}

void OffenseWriter::WriteSome(std::span<const Offense> offenses, WallTime now,
                              const std::string& rules_version, OffenseResult& result) const {
  std::vector<RecordWrite> writes;
  std::vector<bool> in_shadow;
  std::unordered_set<std::string_view> ids;
  std::size_t created = 0;
  for (const Offense& offense : offenses) {
    RecordWrite write;
    if (!ids.insert(offense.strike.offender.id).second) continue;
    const Prepared prepared = Prepare(offense, now, rules_version, write);
    if (prepared == Prepared::kRefused) ++result.refused;
    if (prepared != Prepared::kReady) continue;
    if (write.expected == std::uint64_t{0}) ++created;
    writes.push_back(std::move(write));
    in_shadow.push_back(offense.strike.penalty.shadow);
  }
  const std::size_t held = entries_.Counts().penalties;
  const std::size_t excess =
      held + created > options_.max_penalties ? held + created - options_.max_penalties : 0;
  std::vector<RecordWrite> removals;
  if (excess > 0) {
    for (std::string& id : entries_.FirstPenaltiesToEnd(std::min(excess, kMaxPerWrite))) {
      if (ids.contains(id)) continue;
      removals.push_back({.kind = RecordKind::kPenalty, .id = std::move(id), .remove = true});
    }
  }
  while (!writes.empty()) {
    std::vector<RecordWrite> all = writes;
    all.insert(all.end(), removals.begin(), removals.end());
    const auto written = records_.Write(all, {});
    if (!written || written->written.outcome == control::RecordWriteOutcome::kTooMany) {
      result.failed += writes.size();
      result.error =
          written ? "the control store has no room for more penalties" : written.error().message;
      return;
    }
    if (written->written.outcome == control::RecordWriteOutcome::kWritten) {
      result.penalized += writes.size();
      result.shadow +=
          static_cast<std::size_t>(std::count(in_shadow.begin(), in_shadow.end(), true));
      result.displaced += removals.size();
      return;
    }
    // Another node was first, and this offense is void.
    const auto failed = static_cast<std::ptrdiff_t>(written->written.failed);
    if (written->written.failed >= writes.size()) return;
    writes.erase(writes.begin() + failed);
    in_shadow.erase(in_shadow.begin() + failed);
  }
}

OffenseResult OffenseWriter::Write(std::span<const Offense> offenses, WallTime now,
                                   const std::string& rules_version) const {
  OffenseResult result;
  while (!offenses.empty()) {
    const std::size_t count = std::min(offenses.size(), kMaxPerWrite);
    WriteSome(offenses.first(count), now, rules_version, result);
    offenses = offenses.subspan(count);
  }
  return result;
}

}  // namespace sluice::penalty
