// Applies live entries to the descriptors of a request. Its domain and the entries of a descriptor
// are the attributes of a call.

#include "api/envoy/check.h"

namespace sluice::api {

using limiter::CheckRequest;
using limiter::Terms;
using match::EntryEffect;
using match::EntryTarget;
using match::FoundEntries;
using match::LiveEntry;

void EnvoyCheck::FindEntries(std::size_t at, match::Attributes attributes) {
  limiter::Limiter& limiter = services_->limiter();
  const FoundEntries found = limiter.FindEntries(attributes, now_);
  rows_[at].first_entry = entries_.size();
  if (!found.empty()) {
    entries_.insert(entries_.end(), found.begin(), found.end());
    entry_set_ = limiter.entries_in_use();
  }
  rows_[at].end_entry = entries_.size();
}

void EnvoyCheck::FindEntriesByDescriptors() {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    attributes_.clear();
    attributes_.push_back({"domain", request.domain});
    for (const envoy::Entry& entry : request.EntriesOf(request.descriptors[i])) {
      attributes_.push_back({entry.key, entry.value});
    }
    FindEntries(i, attributes_);
  }
}

// Refunded hits were taken before: neither a block nor an exemption changes them.
void EnvoyCheck::ApplyEntries(Row& row, std::size_t at) {
  const FoundEntries found = EntriesOf(row);
  if (found.empty() || request.descriptors[at].gives_back) return;
  limiter::Limiter& limiter = services_->limiter();
  const LiveEntry* block = match::FindBlock(found);
  if (block == nullptr && row.node != nullptr) block = FindBlock(found, row.node->rule.id);
  if (block == nullptr && rules_) {
    for (const match::MatchedLimit& matched : matches_[at]->limits()) {
      if (block == nullptr) block = FindBlock(found, matched.rule->id);
    }
  }
  if (block != nullptr) {
    row.kind = Kind::kDenied;
    row.block_rest = match::RestOf(block->entry, limiter.RuleTime(now_));
    return limiter.NoteEntry(*block, now_);
  }
  const LiveEntry* const allow = match::FindAllow(found);
  // The deny list, and rules that deny what they don't match, decide first and last.
  const bool is_denied =
      row.kind == Kind::kDenied && rules_ && matches_[at]->listed() == match::Listed::kDenied;
  if (allow == nullptr || is_denied) return;
  row.kind = Kind::kUnlimited;
  limiter.NoteEntry(*allow, now_);
}

void EnvoyCheck::AddAdjusted(const Row& row, const EntryTarget& target, match::MatchedLimit matched,
                             Terms terms, CheckRequest& check) {
  limiter::Limiter& limiter = services_->limiter();
  const FoundEntries found = EntriesOf(row);
  const bool gives_back = row.kind == Kind::kGivenBack;
  const LiveEntry* used = nullptr;
  std::optional<Limit> adjusted;
  if (!found.empty()) {
    const LiveEntry* const allow = gives_back ? nullptr : match::FindAllow(found, target);
    const LiveEntry* const change = match::FindAdjustment(found, target);
    if (allow != nullptr) {
      used = allow;
      terms.mode = Mode::kShadow;
      terms.only_looks = true;
    } else if (change != nullptr && change->entry.effect == EntryEffect::kUnlimited) {
      if (!gives_back) {
        used = change;
        terms.mode = Mode::kShadow;
      }
    } else if (change != nullptr && !target.rejects_all) {
      const Limit& limit = matched.limit != nullptr ? matched.limit->limit : *row.own;
      adjusted = match::AdjustedLimit(limit, change->entry);
      if (adjusted) used = change;
    }
  }
  if (matched.limit != nullptr) {
    check.AddMatched(matched, terms);
  } else {
    check.AddLimit(matched.key, *row.own, matched.cost, terms);
  }
  if (adjusted) check.SetLimit(*adjusted);
  if (used != nullptr && !gives_back) limiter.NoteEntry(*used, now_);
}

}  // namespace sluice::api
