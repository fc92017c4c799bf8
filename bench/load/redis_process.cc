#include "load/redis_process.h"

#include <cstdint>
#include <string>

#include "redis/testing/redis_server.h"

namespace sluice::bench {

Process StartRedis(const Cores& cores, const testing::Folder& folder) {
  const std::uint16_t port = redis::testing::FreePort();
  return {{"redis-server", "--bind", "127.0.0.1", "--port", std::to_string(port), "--save", "",
           "--appendonly", "no", "--dir", folder.path().string()},
          port,
          cores};
}

}  // namespace sluice::bench
