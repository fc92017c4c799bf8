#include "redis/yaml.h"

#include <optional>
#include <string_view>

#include <yaml-cpp/yaml.h>

#include "redis/named_option.h"
#include "redis/url.h"

namespace sluice::redis {
namespace {

Error Invalid(const YAML::Mark& mark, std::string_view message) {
  return {ErrorCode::kInvalidOptions,
          "redis options, line " + std::to_string(mark.line + 1) + ": " + std::string(message)};
}

// Fields that URLs have no option for, because they stand elsewhere in a URL.
bool SetField(std::string_view name, const std::string& value, Options& options) {
  if (name == "host") {
    options.host = value;
  } else if (name == "unix_socket") {
    options.unix_socket = value;
  } else if (name == "username") {
    options.username = value;
  } else if (name == "password") {
    options.password = Secret(value);
  } else {
    return false;
  }
  return true;
}

std::optional<Error> ReadScalar(const std::string& name, const YAML::Node& value,
                                Options& options) {
  if (!value.IsScalar()) return Invalid(value.Mark(), name + ": expected one value");
  if (SetField(name, value.Scalar(), options)) return std::nullopt;
  const std::string_view option = name == "database" ? "db" : std::string_view(name);
  const auto problem = SetOption(option, value.Scalar(), options);
  if (problem) return Invalid(value.Mark(), *problem);
  return std::nullopt;
}

std::optional<Error> ReadTls(const YAML::Node& value, Options& options) {
  options.tls.enabled = true;
  if (value.IsScalar()) {
    options.tls.enabled = value.Scalar() == "true";
    if (value.Scalar() == "true" || value.Scalar() == "false") return std::nullopt;
    return Invalid(value.Mark(), ExpectedFound("tls", "true, false or fields", value.Scalar()));
  }
  if (!value.IsMap()) return Invalid(value.Mark(), "tls: expected true, false or fields");
  for (const auto& field : value) {
    if (auto problem = ReadScalar(field.first.Scalar(), field.second, options)) return problem;
  }
  return std::nullopt;
}

std::optional<Error> ReadSeeds(const std::string& name, const YAML::Node& value,
                               std::uint16_t usual_port, Options& options) {
  if (!value.IsSequence()) {
    return Invalid(value.Mark(), name + ": expected a list of addresses, such as [10.0.0.1:" +
                                     std::to_string(usual_port) + "]");
  }
  options.seeds.clear();
  for (const YAML::Node& element : value) {
    ServerAddress seed{.port = usual_port};
    if (!element.IsScalar()) return Invalid(element.Mark(), name + ": expected host:port");
    if (auto problem = ParseServerAddress(element.Scalar(), seed)) {
      return Invalid(element.Mark(), name + ": " + *problem);
    }
    options.seeds.push_back(std::move(seed));
  }
  return std::nullopt;
}

std::optional<Error> ReadSentinelField(const std::string& name, const YAML::Node& value,
                                       Options& options) {
  constexpr std::uint16_t kUsualPort = 26379;
  if (name == "addresses") return ReadSeeds(name, value, kUsualPort, options);
  if (!value.IsScalar()) return Invalid(value.Mark(), name + ": expected one value");
  if (name == "name") {
    options.sentinel.name = value.Scalar();
  } else if (name == "password") {
    options.sentinel.password = Secret(value.Scalar());
  } else if (name == "username" || name == "password_file" || name == "password_env") {
    SetOption("sentinel_" + name, value.Scalar(), options);
  } else {
    return Invalid(value.Mark(),
                   ExpectedFound("sentinel",
                                 "one of name, addresses, username, password, password_file and "
                                 "password_env",
                                 name));
  }
  return std::nullopt;
}

std::optional<Error> ReadSentinel(const YAML::Node& value, Options& options) {
  if (!value.IsMap()) return Invalid(value.Mark(), "sentinel: expected fields, such as name");
  options.topology = Topology::kSentinel;
  for (const auto& field : value) {
    auto problem = ReadSentinelField(field.first.Scalar(), field.second, options);
    if (problem) return problem;
  }
  return std::nullopt;
}

std::optional<Error> ReadField(const std::string& name, const YAML::Node& value, Options& options) {
  if (name == "url") return std::nullopt;  // Read before all others.
  if (name == "tls") return ReadTls(value, options);
  if (name == "sentinel") return ReadSentinel(value, options);
  if (name == "cluster") {
    constexpr std::uint16_t kUsualPort = 6379;
    options.topology = Topology::kCluster;
    return ReadSeeds(name, value, kUsualPort, options);
  }
  return ReadScalar(name, value, options);
}

Result<Options> Read(const YAML::Node& root) {
  if (!root.IsMap()) return Invalid(root.Mark(), "expected fields, such as url: redis://localhost");
  Options options;
  if (const YAML::Node url = root["url"]) {
    if (!url.IsScalar()) return Invalid(url.Mark(), "url: expected one value");
    auto parsed = ParseUrl(url.Scalar());
    if (!parsed) return Invalid(url.Mark(), parsed.error().message);
    options = std::move(*parsed);
  }
  for (const auto& field : root) {
    if (!field.first.IsScalar()) return Invalid(field.first.Mark(), "expected a field's name");
    if (auto problem = ReadField(field.first.Scalar(), field.second, options)) return *problem;
  }
  if (root["sentinel"] && root["cluster"]) {
    return Invalid(root["cluster"].Mark(), "only one of sentinel and cluster may be given");
  }
  if (auto problem = FindProblem(options)) return *problem;
  return options;
}

}  // namespace

Result<Options> ParseYaml(const std::string& text) {
  try {
    return Read(YAML::Load(text));
  } catch (const YAML::Exception& error) {
    return Invalid(error.mark, error.msg);
  }
}

}  // namespace sluice::redis
