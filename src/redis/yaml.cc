#include "redis/yaml.h"

#include <optional>
#include <string_view>

#include "config_text/yaml_tree.h"
#include "redis/named_option.h"
#include "redis/url.h"

namespace sluice::redis {
namespace {

using config_text::YamlKind;
using config_text::YamlNode;

Error InvalidField(const YamlNode& node, std::string_view message) {
  return {ErrorCode::kInvalidOptions, "redis options, line " + std::to_string(node.position.line) +
                                          ": " + std::string(message)};
}

// Calls `read` with the name and the value of each field, up to the first error.
std::optional<Error> ForEachField(const YamlNode& mapping, const auto& read) {
  for (std::size_t i = 0; i + 1 < mapping.children.size(); i += 2) {
    const YamlNode& key = *mapping.children[i];
    if (key.kind != YamlKind::kScalar) return InvalidField(key, "expected a field's name");
    if (auto error = read(std::string(key.text), *mapping.children[i + 1])) return error;
  }
  return std::nullopt;
}

const YamlNode* FindField(const YamlNode& mapping, std::string_view name) {
  for (std::size_t i = 0; i + 1 < mapping.children.size(); i += 2) {
    if (mapping.children[i]->text == name) return mapping.children[i + 1];
  }
  return nullptr;
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

std::optional<Error> ReadScalar(const std::string& name, const YamlNode& value, Options& options) {
  if (value.kind != YamlKind::kScalar) return InvalidField(value, name + ": expected one value");
  if (SetField(name, std::string(value.text), options)) return std::nullopt;
  const std::string_view option = name == "database" ? "db" : std::string_view(name);
  const auto problem = SetOption(option, std::string(value.text), options);
  if (problem) return InvalidField(value, *problem);
  return std::nullopt;
}

std::optional<Error> ReadTls(const YamlNode& value, Options& options) {
  options.tls.enabled = true;
  if (value.kind == YamlKind::kScalar) {
    options.tls.enabled = std::string(value.text) == "true";
    if (std::string(value.text) == "true" || std::string(value.text) == "false")
      return std::nullopt;
    return InvalidField(value,
                        ExpectedFound("tls", "true, false or fields", std::string(value.text)));
  }
  if (value.kind != YamlKind::kMapping)
    return InvalidField(value, "tls: expected true, false or fields");
  return ForEachField(value, [&](const std::string& name, const YamlNode& field) {
    return ReadScalar(name, field, options);
  });
}

std::optional<Error> ReadSeeds(const std::string& name, const YamlNode& value,
                               std::uint16_t usual_port, Options& options) {
  if (value.kind != YamlKind::kSequence) {
    return InvalidField(value, name + ": expected a list of addresses, such as [10.0.0.1:" +
                                   std::to_string(usual_port) + "]");
  }
  options.seeds.clear();
  for (const YamlNode* const child : value.children) {
    const YamlNode& element = *child;
    ServerAddress seed{.port = usual_port};
    if (element.kind != YamlKind::kScalar)
      return InvalidField(element, name + ": expected host:port");
    if (auto problem = ParseServerAddress(std::string(element.text), seed)) {
      return InvalidField(element, name + ": " + *problem);
    }
    options.seeds.push_back(std::move(seed));
  }
  return std::nullopt;
}

std::optional<Error> ReadSentinelField(const std::string& name, const YamlNode& value,
                                       Options& options) {
  constexpr std::uint16_t kUsualPort = 26379;
  if (name == "addresses") return ReadSeeds(name, value, kUsualPort, options);
  if (value.kind != YamlKind::kScalar) return InvalidField(value, name + ": expected one value");
  if (name == "name") {
    options.sentinel.name = std::string(value.text);
  } else if (name == "password") {
    options.sentinel.password = Secret(std::string(value.text));
  } else if (name == "username" || name == "password_file" || name == "password_env") {
    SetOption("sentinel_" + name, std::string(value.text), options);
  } else {
    return InvalidField(
        value, ExpectedFound("sentinel",
                             "one of name, addresses, username, password, password_file and "
                             "password_env",
                             name));
  }
  return std::nullopt;
}

std::optional<Error> ReadSentinel(const YamlNode& value, Options& options) {
  if (value.kind != YamlKind::kMapping)
    return InvalidField(value, "sentinel: expected fields, such as name");
  options.topology = Topology::kSentinel;
  return ForEachField(value, [&](const std::string& name, const YamlNode& field) {
    return ReadSentinelField(name, field, options);
  });
}

std::optional<Error> ReadField(const std::string& name, const YamlNode& value, Options& options) {
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

Result<Options> Read(const YamlNode& root) {
  if (root.kind != YamlKind::kMapping) {
    return InvalidField(root, "expected fields, such as url: redis://localhost");
  }
  Options options;
  if (const YamlNode* const url = FindField(root, "url")) {
    if (url->kind != YamlKind::kScalar) return InvalidField(*url, "url: expected one value");
    auto parsed = ParseUrl(url->text);
    if (!parsed) return InvalidField(*url, parsed.error().message);
    options = std::move(*parsed);
  }
  const auto read = [&](const std::string& name, const YamlNode& value) {
    return ReadField(name, value, options);
  };
  if (auto error = ForEachField(root, read)) return *error;
  const YamlNode* const cluster = FindField(root, "cluster");
  if (cluster != nullptr && FindField(root, "sentinel") != nullptr) {
    return InvalidField(*cluster, "only one of sentinel and cluster may be given");
  }
  if (auto problem = FindProblem(options)) return *problem;
  return options;
}

}  // namespace

Result<Options> ParseYaml(const std::string& text) {
  const auto parsed = config_text::YamlTree::Parse(text);
  if (const auto* const error = std::get_if<config_text::YamlError>(&parsed)) {
    return InvalidField({.position = error->position}, error->message);
  }
  const YamlNode* const root = std::get<config_text::YamlTree>(parsed).root();
  return Read(root == nullptr ? YamlNode{} : *root);
}

}  // namespace sluice::redis
