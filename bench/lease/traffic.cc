#include "traffic.h"

#include "resp/encoder.h"

namespace sluice::bench {

std::string Rules() {
  // What Redis does not answer is no measurement: a denial shows.
  std::string rules = "defaults: { on_store_failure: closed }\nrules:\n";
  const auto add = [&](const std::string& traffic, const std::string& limit) {
    for (const std::string mode : kModes) {
      const std::string id = traffic + "-" + mode;
      rules += "  - { id: " + id + ", match: { endpoint: /" + id + " }, consistency: " + mode +
               ", capacity: " + limit + ", refill_rate: " + limit + " per second }\n";
    }
  };
  add("roomy", "1_000_000_000");
  add("hot", std::to_string(kHotLimit));
  add("zipf", std::to_string(kZipfLimit));
  add("uniform", std::to_string(kZipfLimit));
  return rules;
}

std::string CheckOfFreshKeys(const std::string& rule) {
  static int made = 0;
  const std::string key = "set" + std::to_string(++made) + ":" + std::string(Requests::kPlace);
  std::string command;
  resp::AppendCommand(command, {"SLUICE.CHECK", "api_key", key, "endpoint", "/" + rule});
  return command;
}

}  // namespace sluice::bench
