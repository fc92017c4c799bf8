#include "redis/options.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>

namespace sluice::redis {
namespace {

Error Invalid(std::string message) { return {ErrorCode::kInvalidOptions, std::move(message)}; }

std::optional<Error> FindTimeProblem(const Options& options) {
  if (options.connect_timeout <= Micros{0})
    return Invalid("redis: connect_timeout must be above 0");
  if (options.stall_timeout <= Micros{0}) return Invalid("redis: stall_timeout must be above 0");
  if (options.backoff_min < Micros{0} || options.backoff_max < options.backoff_min) {
    return Invalid("redis: backoff_min must be at least 0, and backoff_max at least backoff_min");
  }
  return std::nullopt;
}

Result<Secret> ReadPasswordFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file) return Invalid("redis: password_file " + path + " can't be read");
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  if (text.empty()) return Invalid("redis: password_file " + path + " is empty");
  return Secret(std::move(text));
}

Result<Secret> ReadPasswordVariable(const std::string& name) {
  const char* const text = std::getenv(name.c_str());
  if (text == nullptr || *text == '\0') {
    return Invalid("redis: password_env: the environment variable " + name + " is not set");
  }
  return Secret(text);
}

}  // namespace

std::optional<Error> FindProblem(const Options& options) {
  if (options.unix_socket.empty() && options.host.empty()) return Invalid("redis: host is empty");
  if (options.unix_socket.empty() && options.port == 0) return Invalid("redis: port is 0");
  const int passwords = (options.password.empty() ? 0 : 1) +
                        (options.password_file.empty() ? 0 : 1) +
                        (options.password_env.empty() ? 0 : 1);
  if (passwords > 1) {
    return Invalid("redis: only one of password, password_file and password_env may be given");
  }
  if (passwords == 0 && !options.username.empty()) {
    return Invalid("redis: the user " + options.username + " has no password");
  }
  if (options.client_name.find_first_of(" \r\n") != std::string::npos) {
    return Invalid("redis: client_name must not contain spaces");
  }
  if (options.max_queued == 0) return Invalid("redis: max_queued must be above 0");
  return FindTimeProblem(options);
}

Result<Secret> ReadPassword(const Options& options) {
  if (!options.password_file.empty()) return ReadPasswordFile(options.password_file);
  if (!options.password_env.empty()) return ReadPasswordVariable(options.password_env);
  return options.password;
}

std::string AddressOf(const Options& options) {
  if (!options.unix_socket.empty()) return "unix:" + options.unix_socket;
  const bool is_ipv6 = options.host.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + options.host + "]" : options.host) + ":" + std::to_string(options.port);
}

}  // namespace sluice::redis
