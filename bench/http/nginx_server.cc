#include "nginx_server.h"

#include <string>
#include <vector>

#include "redis/testing/redis_server.h"

namespace sluice::bench {
namespace {

// One process is both master and worker, so that nothing stays behind when it is killed.
//
// `return` beside `limit_req` would answer before the limit is looked at: nginx rewrites first. An
// empty image is the least that it answers after the limit.
std::string ConfigFor(std::uint16_t port) {
  return R"(daemon off;
error_log stderr crit;
master_process off;
pid nginx.pid;
events { worker_connections 1024; }
http {
  access_log off;
  keepalive_requests 1000000000;
  keepalive_timeout 1h;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  limit_req_status 429;
  limit_req_zone $arg_key zone=limited:128m rate=1000000r/s;
  limit_req_zone $arg_key zone=closed:128m rate=1r/m;
  server {
    listen 127.0.0.1:)" +
         std::to_string(port) + R"(;
    location = )" +
         kNginxLimited + R"( { limit_req zone=limited burst=1000000 nodelay; empty_gif; }
    location = )" +
         kNginxClosed + R"( { limit_req zone=closed; empty_gif; }
    location = )" +
         kNginxBare + R"( { return 200 "ok"; }
  }
}
)";
}

}  // namespace

Nginx::Nginx(bool alone) {
  const std::string program = FindProgram("nginx");
  if (alone || program.empty()) return;
  const std::uint16_t port = redis::testing::FreePort();
  const std::string config = folder_ / "nginx.conf";
  testing::WriteInPlace(config, ConfigFor(port));
  process_.emplace(std::vector<std::string>{program, "-p", folder_.path().string(), "-e", "stderr",
                                            "-c", config},
                   port, PlacesFor(1).server);
}

}  // namespace sluice::bench
