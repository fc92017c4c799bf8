#include "redis/primary_clients.h"

#include <chrono>
#include <utility>

#include "redis/slot_ranges.h"
#include "resp/encoder.h"

namespace sluice::redis {
namespace {

constexpr Micros kMapLifetime = std::chrono::seconds(1);

Error UnavailableError(std::string message) {
  return {ErrorCode::kStoreUnavailable, std::move(message)};
}

}  // namespace

PrimaryClients::PrimaryClients(Options options, Micros timeout)
    : options_(std::move(options)), timeout_(timeout) {}

PrimaryClients::~PrimaryClients() = default;

Result<CallResult> CallPrimary(const PrimaryClients::Primary& primary,
                               std::initializer_list<std::string_view> command, Micros timeout) {
  std::string bytes;
  resp::AppendCommand(bytes, command);
  CallResult result = primary.client->Call(bytes, timeout);
  if (!result) return UnavailableError(result.error().message);
  if (result.reply().is_error()) {
    return Error{ErrorCode::kStoreError, primary.name + ": " + std::string(result.reply().text())};
  }
  return result;
}

Result<std::vector<ServerAddress>> PrimaryClients::ReadOwners() {
  const auto map = CallPrimary({.name = AddressOf(options_), .client = service_},
                               {"CLUSTER", "SLOTS"}, timeout_);
  if (!map) return map.error();
  const auto ranges = ReadSlotRanges(map->reply(), options_.seeds.front().host);
  if (!ranges) return UnavailableError(AddressOf(options_) + ": no map of slots");
  std::vector<ServerAddress> owners;
  for (const SlotRange& range : *ranges) owners.push_back(range.owner);
  return owners;
}

Result<std::vector<PrimaryClients::Primary>> PrimaryClients::List() {
  const std::lock_guard lock(mutex_);
  if (!service_) service_ = std::make_shared<BlockingClient>(options_);
  if (options_.topology != Topology::kCluster) {
    return std::vector<Primary>{{.name = AddressOf(options_), .client = service_}};
  }
  if (nodes_.empty() || SteadyClock::Now() >= listed_ + kMapLifetime) {
    const auto owners = ReadOwners();
    if (!owners) return owners.error();
    std::map<std::string, std::shared_ptr<BlockingClient>> nodes;
    for (const ServerAddress& owner : *owners) {
      auto& client = nodes[ToText(owner)];
      if (client) continue;
      const auto known = nodes_.find(ToText(owner));
      client = known != nodes_.end()
                   ? known->second
                   : std::make_shared<BlockingClient>(OptionsOfNode(options_, owner));
    }
    nodes_ = std::move(nodes);
    listed_ = SteadyClock::Now();
  }
  std::vector<Primary> primaries;
  for (const auto& [name, client] : nodes_) primaries.push_back({.name = name, .client = client});
  return primaries;
}

}  // namespace sluice::redis
