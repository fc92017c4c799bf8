#include "transport/admission.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace sluice::transport {

std::size_t Admission::OriginHash::operator()(const Origin& origin) const {
  return std::hash<std::string_view>{}(
      {reinterpret_cast<const char*>(origin.data()), origin.size()});
}

Admission::Origin Admission::OriginOf(const net::PeerAddress& peer) {
  Origin origin{static_cast<std::uint8_t>(peer.family())};
  const auto bytes = peer.bytes().first(std::min(peer.bytes().size(), origin.size() - 1));
  std::copy(bytes.begin(), bytes.end(), origin.begin() + 1);
  return origin;
}

Admission::Verdict Admission::Enter(const net::PeerAddress& peer) {
  const bool is_bounded =
      limits_.per_address > 0 && (limits_.per_address_of_proxies || !IsProxy(peer));
  const std::lock_guard lock(mutex_);
  if (limits_.connections > 0 && size() >= limits_.connections) return Verdict::kTooMany;
  if (peer.family() != net::PeerAddress::Family::kUnix) {
    const Origin origin = OriginOf(peer);
    const auto found = origins_.find(origin);
    const std::size_t here = found == origins_.end() ? 0 : found->second;
    if (is_bounded && here >= limits_.per_address) return Verdict::kTooManyFromAddress;
    if (here > 0) {
      ++found->second;
    } else {
      origins_.emplace(origin, 1);
    }
  }
  ++size_;
  peak_ = std::max(peak_, size());
  return Verdict::kAdmitted;
}

void Admission::Leave(const net::PeerAddress& peer) {
  const std::lock_guard lock(mutex_);
  --size_;
  if (peer.family() == net::PeerAddress::Family::kUnix) return;
  const auto found = origins_.find(OriginOf(peer));
  if (--found->second == 0) origins_.erase(found);
}

bool Admission::EnterReserve() {
  const std::lock_guard lock(mutex_);
  if (limits_.reserved == 0 || in_reserve_ >= limits_.reserved + kOnTheirWay) return false;
  ++in_reserve_;
  return true;
}

void Admission::LeaveReserve() {
  const std::lock_guard lock(mutex_);
  --in_reserve_;
}

bool Admission::IsProxy(const net::PeerAddress& peer) const {
  return limits_.proxies != nullptr && limits_.proxies->TrustsPeer(AddressOf(peer.bytes()));
}

std::size_t Admission::TakePeak() {
  const std::lock_guard lock(mutex_);
  return std::exchange(peak_, size());
}

std::size_t Admission::addresses() const {
  const std::lock_guard lock(mutex_);
  return origins_.size();
}

}  // namespace sluice::transport
