#pragma once

#include <cstddef>
#include <initializer_list>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "resp/encoder.h"

namespace sluice::api::testing {

/// What RandomCommand's rule commands are about.
inline constexpr std::string_view kPipelineRules = R"(
deny: ["mallory"]
rules:
  - { id: api, limit: 5/s }
  - { id: search, match: { endpoint: "/search" }, limits: [2/s, 10/m] }
  - { id: jobs, match: { endpoint: "/jobs" }, algorithm: sliding_window_log, limit: 3, window: 10 }
)";
/// Of the server that they are sent to.
inline constexpr std::string_view kPipelineToken = "secret";

/// A command as it is on the wire. Keys are few, so that commands meet; some are wrong, some are
/// for administrators, and some change who is one. Few end the connection.
inline std::string RandomCommand(std::mt19937_64& random) {
  const auto one_of = [&random](std::initializer_list<std::string_view> texts) {
    return std::string(texts.begin()[random() % texts.size()]);
  };
  const auto key = [&] { return one_of({"a", "b", "c", "some-longer-key-of-a-client"}); };
  const auto caller = [&](std::string command) {
    std::vector<std::string> words = {std::move(command), "api_key",
                                      random() % 8 == 0 ? "mallory" : key()};
    if (random() % 2 == 0) {
      words.insert(words.end(), {"endpoint", one_of({"/search", "/jobs", "/"})});
    }
    return words;
  };
  std::vector<std::string> words;
  switch (random() % 24) {
    case 0:
      words = {"PING", key()};
      break;
    case 1:
      words = {"AUTH", one_of({"secret", "wrong"})};
      break;
    case 2:
      words = {one_of({"DEL", "UNLINK"}), key(), key()};
      break;
    case 3:
      words = {"CL.THROTTLE", key(), "5", "2"};
      break;
    case 4:
      words = {"CL.THROTTLE", key(), "5", "two", "60"};
      break;
    case 5:
      words = caller("SLUICE.RESET");
      break;
    case 6:
      words = caller("SLUICE.GRANT");
      words.insert(words.end(), {"AMOUNT", one_of({"1", "3", "0"})});
      break;
    case 7:
      words = {one_of({"NOSUCH", "RESET", "DBSIZE"})};
      break;
    case 8:
      words = {random() % 8 == 0 ? "QUIT" : "PING"};
      break;
    case 9:
    case 10:
      words = caller("SLUICE.PEEK");
      break;
    case 11:
    case 12:
    case 13:
    case 14:
    case 15:
      words = caller("SLUICE.CHECK");
      if (random() % 3 == 0) words.insert(words.end(), {"COST", one_of({"0", "2", "9", "-1"})});
      break;
    default:
      words = {"CL.THROTTLE", key(), one_of({"2", "9"}), one_of({"1", "30"}), "60"};
      if (random() % 3 == 0) words.push_back(one_of({"0", "2", "-1", "99"}));
  }
  std::string bytes;
  resp::AppendCommand(bytes, std::vector<std::string_view>(words.begin(), words.end()));
  return bytes;
}

}  // namespace sluice::api::testing
