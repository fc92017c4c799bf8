#include "redis/service.h"

#include "redis/client.h"
#include "redis/cluster_client.h"

namespace sluice::redis {

std::unique_ptr<Service> MakeService(net::Loop& loop, const Options& options) {
  if (options.topology == Topology::kCluster) return std::make_unique<ClusterClient>(loop, options);
  return std::make_unique<Client>(loop, options);
}

}  // namespace sluice::redis
