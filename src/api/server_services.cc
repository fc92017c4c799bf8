#include "api/server_services.h"

namespace sluice::api {

void AddCounted(const identity::Identifier& identifier, limiter::CheckRequest& check) {
  const auto key = check.Find("api_key");
  if (key && !check.Find("api_key_hash")) {
    identity::KeyDigest::Buffer room;
    const std::string_view shown = identifier.ShownKey(*key, room);
    if (shown.data() != key->data()) check.Add("api_key_hash", shown);
  }
  const auto ip = check.Find("ip");
  if (ip && ip->find(':') != std::string_view::npos && !check.Find("ip_network")) {
    identity::NetworkText room;
    const auto address = ParseAddress(*ip);
    const auto network = address ? identifier.CountedNetwork(*address, room) : std::nullopt;
    if (network) check.Add("ip_network", *network);
  }
}

bool HasIdentity(const limiter::CheckRequest& check) {
  return !check.Find("ip").value_or("").empty() || !check.Find("api_key").value_or("").empty();
}

bool AddPeerAddress(ServerServices& services, const Peer& peer, bool has_key,
                    limiter::CheckRequest& check) {
  if (!has_key && services.requires_identity()) return false;
  if (peer.address.empty()) return true;
  if (!has_key) services.NotePeerAsIdentity();
  check.Add("ip", peer.address);
  return true;
}

}  // namespace sluice::api
