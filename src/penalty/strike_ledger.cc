#include "penalty/strike_ledger.h"

#include <algorithm>
#include <utility>

namespace sluice::penalty {

void StrikeLedger::Add(StrikeBuffer& buffer) {
  total_ += buffer.dropped();
  dropped_ += buffer.dropped();
  for (Strike& strike : buffer.strikes()) {
    total_ += static_cast<std::uint64_t>(strike.denials);
    const auto found = strikes_.find(strike.offender.id);
    if (found != strikes_.end()) {
      strike.denials += found->second.denials;
      strike.ignored_backoff += found->second.ignored_backoff;
      found->second = std::move(strike);  // By the newer rules.
    } else if (strikes_.size() < kMaxCallers) {
      std::string id = strike.offender.id;
      strikes_.emplace(std::move(id), std::move(strike));
    } else {
      dropped_ += static_cast<std::uint64_t>(strike.denials);
    }
  }
}

std::vector<Strike> StrikeLedger::Take() {
  std::vector<Strike> taken;
  taken.reserve(strikes_.size());
  for (auto& [id, strike] : strikes_) taken.push_back(std::move(strike));
  strikes_.clear();
  if (taken.size() <= kMaxTaken) return taken;
  const auto end = taken.begin() + kMaxTaken;
  std::nth_element(taken.begin(), end, taken.end(),
                   [](const Strike& a, const Strike& b) { return a.denials > b.denials; });
  for (auto at = end; at != taken.end(); ++at) {
    std::string id = at->offender.id;
    strikes_.emplace(std::move(id), std::move(*at));
  }
  taken.erase(end, taken.end());
  return taken;
}

}  // namespace sluice::penalty
