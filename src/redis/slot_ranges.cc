#include "redis/slot_ranges.h"

#include "redis/slot.h"

namespace sluice::redis {
namespace {

// Metadata of a server beside its host, port and id: pairs, such as "ip" and an address.
std::string_view FindDetail(resp::Value server, std::string_view name) {
  constexpr std::size_t kDetails = 3;
  if (server.size() <= kDetails) return {};
  const resp::Value details = server.at(kDetails);
  for (std::size_t i = 0; i + 1 < details.size(); i += 2) {
    if (details.at(i).text() == name) return details.at(i + 1).text();
  }
  return {};
}

std::optional<ServerAddress> ReadServer(resp::Value server, const std::string& asked_host) {
  if (server.size() < 2) return std::nullopt;
  const auto port = server.at(1).ToInteger();
  if (!port || *port <= 0 || *port > 0xFFFF) return std::nullopt;
  std::string_view host = server.at(0).text();
  if (host == "?") host = FindDetail(server, "ip");  // To be known by its name, and has none.
  return ServerAddress{host.empty() ? asked_host : std::string(host),
                       static_cast<std::uint16_t>(*port)};
}

}  // namespace

std::optional<std::vector<SlotRange>> ReadSlotRanges(resp::Value reply,
                                                     const std::string& asked_host) {
  constexpr std::size_t kFewest = 3;  // First and last slot, and the primary; then its replicas.
  std::vector<SlotRange> ranges;
  for (const resp::Value range : reply) {
    if (range.size() < kFewest) return std::nullopt;
    const auto first = range.at(0).ToInteger();
    const auto last = range.at(1).ToInteger();
    auto owner = ReadServer(range.at(2), asked_host);
    if (!first || !last || !owner || *first < 0 || *first > *last || *last >= kSlots) {
      return std::nullopt;
    }
    ranges.push_back(
        {static_cast<std::uint16_t>(*first), static_cast<std::uint16_t>(*last), std::move(*owner)});
  }
  if (ranges.empty()) return std::nullopt;
  return ranges;
}

}  // namespace sluice::redis
