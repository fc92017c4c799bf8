#include "load/sluice_server.h"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "redis/testing/redis_server.h"

namespace sluice::bench {
namespace {

constexpr const char* kRules = R"(rules:
  - { id: client, capacity: 1_000_000, refill_rate: 100 per hour }
  - { id: search, match: { endpoint: /search }, capacity: 1_000_000, refill_rate: 100 per hour }
  - { id: closed, match: { endpoint: /closed }, limit: 1 per day }
)";

std::filesystem::path ServerUnderTest() {
  if (const char* given = std::getenv("SLUICE")) return given;
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "sluice";
}

bool Runs(const std::string& arguments) {
  const std::string command =
      "'" + ServerUnderTest().string() + "' " + arguments + " >/dev/null 2>&1";
  return std::system(command.c_str()) == 0;
}

}  // namespace

ManyEntries::ManyEntries(bool wanted, const testing::Folder& folder) : folder_(folder) {
  if (!wanted || !Runs("entries --help")) return;
  port_ = redis::testing::FreePort();
  const std::string port = std::to_string(port_);
  flags_ = {"--admin", "127.0.0.1:" + port, "--state-dir", folder_ / ("state-" + port)};
}

void ManyEntries::Put() const {
  if (port_ == 0) return;
  constexpr int kEntries = 100'000;
  constexpr int kAtOnce = 10'000;
  const std::string file = folder_ / "entries.json";
  for (int begin = 0; begin < kEntries; begin += kAtOnce) {
    std::string list;
    for (int i = begin; i < begin + kAtOnce; ++i) {
      const std::string number = std::to_string(i);
      list.append(i == begin ? "" : ",\n").append(R"({"id":"e)").append(number);
      list.append(R"(","match":{")").append(i % 2 == 0 ? "api_key" : "key");
      list.append(R"(":"another-customer:)").append(number);
      list.append(R"("},"effect":"block","expires_at":null})");
    }
    testing::WriteInPlace(file, "{\"entries\":[" + list + "]}");
    if (!Runs("entries import '" + file + "' --server http://127.0.0.1:" + std::to_string(port_))) {
      throw std::runtime_error("sluice entries import failed");
    }
  }
}

Process StartSluice(const std::string& listen, std::size_t loops, const testing::Folder& folder,
                    const std::vector<std::string>& more) {
  return StartSluiceOn("memory", kRules, listen, loops, folder, PlacesFor(loops).server, more);
}

Process StartSluiceOn(const std::string& store, const std::string& rules, const std::string& listen,
                      std::size_t loops, const testing::Folder& folder, const Cores& cores,
                      const std::vector<std::string>& more) {
  const std::string rule_file = folder / "rules.yaml";
  testing::WriteInPlace(rule_file, rules);
  const std::uint16_t port = redis::testing::FreePort();
  std::vector<std::string> command{
      ServerUnderTest().string(), "serve", "--store", store, "--rules", rule_file, "--threads",
      std::to_string(loops)};
  for (const std::string plain : {"--http", "--resp", "--grpc"}) {
    if (plain != listen) command.insert(command.end(), {plain, "none"});
  }
  command.insert(command.end(), {listen, "127.0.0.1:" + std::to_string(port)});
  command.insert(command.end(), more.begin(), more.end());
  return {command, port, cores};
}

}  // namespace sluice::bench
