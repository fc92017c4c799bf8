#include "server/token_records.h"

#include <memory>
#include <utility>
#include <vector>

namespace sluice::server {

void TokenRecords::Apply(const control::RecordChanges& changes, WallTime now) {
  if (changes.complete) tokens_.clear();
  for (const control::Record& record : changes.records) {
    tokens_.erase(record.id);
    if (record.removed) continue;
    auto token = identity::ParseRecordText(record.id, record.text);
    if (token) tokens_.emplace(record.id, *std::move(token));
  }
  access_.tokens.Load("control store", "", now, [this]() -> LiveCandidate<identity::TokenSet> {
    std::vector<identity::AccessToken> tokens;
    tokens.reserve(tokens_.size());
    for (const auto& [id, token] : tokens_) tokens.push_back(token);
    return {.value =
                std::make_shared<const identity::TokenSet>(std::move(tokens), access_.token_uses)};
  });
}

}  // namespace sluice::server
