#include "api/host.h"

namespace sluice::api {

void AddCounted(const identity::Identifier& identifier, limiter::Question& question) {
  const auto key = question.Find("api_key");
  if (key && !question.Find("api_key_hash")) {
    identity::KeyDigest::Room room;
    const std::string_view shown = identifier.ShownKey(*key, room);
    if (shown.data() != key->data()) question.Add("api_key_hash", shown);
  }
  const auto ip = question.Find("ip");
  if (ip && ip->find(':') != std::string_view::npos && !question.Find("ip_network")) {
    identity::NetworkText room;
    const auto address = ParseAddress(*ip);
    const auto network = address ? identifier.CountedNetwork(*address, room) : std::nullopt;
    if (network) question.Add("ip_network", *network);
  }
}

}  // namespace sluice::api
