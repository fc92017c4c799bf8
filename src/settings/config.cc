#include "settings/config.h"

#include <algorithm>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "base/read_file.h"
#include "config_text/suggestion.h"
#include "config_text/yaml_tree.h"
#include "settings/setting.h"

namespace sluice::settings {
namespace {

using config_text::Position;
using config_text::YamlKind;
using config_text::YamlNode;

// Collects the settings of all sources, and everything that is wrong with them.
class ConfigReader {
 public:
  void Set(const Setting& setting, std::string_view text, const std::string& where) {
    // The problem of a secret is described without the secret: see AdminTokenProblem.
    if (const auto problem = setting.access.set(config_, text)) Report(where, *problem);
  }

  void ReadFile(const std::string& path) {
    const auto text = sluice::ReadFile(path);
    if (!text) return Report(path, text.error().message);
    const auto parsed = config_text::YamlTree::Parse(*text);
    if (const auto* error = std::get_if<config_text::YamlError>(&parsed)) {
      return Report(At(path, error->position), error->message);
    }
    const YamlNode* const root = std::get<config_text::YamlTree>(parsed).root();
    if (root == nullptr || root->kind == YamlKind::kNull) return;
    if (root->kind == YamlKind::kMapping) return ReadMapping(*root, "", path);
    Report(path, "settings are a mapping, as in `http: { listen: 127.0.0.1:8080 }`");
  }

  void Report(const std::string& where, const std::string& problem) {
    problems_ += (problems_.empty() ? "" : "\n") + where + ": " + problem;
  }

  /// Sets the default of `state_dir`: systemd lists the directories that it made for a service.
  void SetStateDirectory(std::string_view directories) {
    config_.state_dir = directories.substr(0, directories.find(':'));
  }

  Result<Config> Finish() {
    bool listens = false;
    for (const auto& [section, listener] : {std::pair("http_tls", &config_.http.listener),
                                            {"resp_tls", &config_.resp.listener},
                                            {"grpc_tls", &config_.grpc.listener},
                                            {"admin_tls", &config_.admin.listener}}) {
      listens = listens || !listener->listen.empty() || !listener->tls_listen.empty();
      if (listener->tls_listen.empty() != listener->tls.certificate.empty()) {
        Report(section, "listen and certificate go together");
      }
      if ((listener->tls.client_certificates == net::ClientCertificates::kOff) !=
          listener->tls.client_ca.empty()) {
        Report(section,
               "client_ca has the authorities of client_certificates: set both or neither");
      }
    }
    if (!listens) Report("http.listen, resp.listen, grpc.listen", "a server needs a listener");
    if (!config_.admin.token.empty() && !config_.admin.token_file.empty()) {
      Report("admin", "either token or token_file, not both");
    }
    CheckAdminJwt();
    if (!problems_.empty()) return Error{ErrorCode::kInvalidOptions, problems_};
    return config_;
  }

 private:
  void CheckAdminJwt() {
    const identity::JwtRoleOptions& jwt = config_.admin.jwt;
    const bool has_all = !jwt.key_files.empty() && !jwt.issuer.empty() && !jwt.audience.empty();
    const bool has_any = !jwt.key_files.empty() || !jwt.issuer.empty() || !jwt.audience.empty();
    if (has_any && !has_all) {
      Report("admin.jwt", "key_files, issuer and audience are all required");
    }
    for (const std::string& path : jwt.key_files) {
      const auto& others = config_.identity.jwt.key_files;
      if (std::find(others.begin(), others.end(), path) == others.end()) continue;
      Report("admin.jwt.key_files",
             path + " is also a file of identity.jwt, whose tokens are those of end customers");
    }
  }

  static std::string At(const std::string& path, Position position) {
    if (position.line == 0) return path;
    return path + ":" + std::to_string(position.line) + ":" + std::to_string(position.column);
  }

  void SetNamed(const std::string& name, std::string_view text, const std::string& where) {
    if (const Setting* const setting = FindSetting(name)) {
      return Set(*setting, text, where + ": " + name);
    }
    std::vector<std::string_view> names;
    for (const Setting& known : Settings()) names.push_back(known.name);
    Report(where, "unknown setting '" + name + "'" + config_text::DidYouMean(name, names));
  }

  // `prefix` is empty or ends with a dot.
  void ReadMapping(const YamlNode& mapping, const std::string& prefix, const std::string& path) {
    for (std::size_t i = 0; i + 1 < mapping.children.size(); i += 2) {
      const YamlNode& key = *mapping.children[i];
      const YamlNode& value = *mapping.children[i + 1];
      const std::string where = At(path, key.position);
      const std::string name = prefix + std::string(key.text);
      if (key.kind != YamlKind::kScalar) {
        Report(where, "the name of a setting is a plain text");
      } else if (value.kind == YamlKind::kScalar) {
        SetNamed(name, value.text, where);
      } else if (value.kind == YamlKind::kSequence) {
        SetNamed(name, Joined(value, ",", where), where);
      } else if (value.kind == YamlKind::kMapping && FindSetting(name) != nullptr) {
        SetNamed(name, Joined(value, "=", where), where);
      } else if (value.kind == YamlKind::kMapping) {
        ReadMapping(value, name + ".", path);
      } else {
        Report(where, name + ": has no value");
      }
    }
  }

  // The values of a sequence as "a,b"; of a mapping, with `separator` "=", as "a=b,c=d".
  std::string Joined(const YamlNode& values, std::string_view separator, const std::string& where) {
    std::string text;
    for (std::size_t i = 0; i < values.children.size(); ++i) {
      const YamlNode& value = *values.children[i];
      if (value.kind != YamlKind::kScalar) Report(where, "expected plain values");
      const bool is_second = values.kind == YamlKind::kMapping && i % 2 == 1;
      text.append(text.empty() ? "" : is_second ? separator : ",").append(value.text);
    }
    return text.empty() ? "none" : text;
  }

  Config config_;
  std::string problems_;
};

}  // namespace

Result<Config> ReadConfig(const ConfigSources& sources) {
  ConfigReader reader;
  if (sources.environment) {
    const char* const directories = sources.environment("STATE_DIRECTORY");
    if (directories != nullptr && *directories != '\0') reader.SetStateDirectory(directories);
  }
  if (!sources.file.empty()) reader.ReadFile(sources.file);
  if (sources.environment) {
    // As the specification of these variables says; SLUICE_… are not concerned.
    const char* const disabled = sources.environment("OTEL_SDK_DISABLED");
    const bool reads_otel = disabled == nullptr || std::string_view(disabled) != "true";
    for (const Setting& setting : Settings()) {
      if (reads_otel && !setting.otel.empty()) {
        const std::string name(setting.otel);
        const char* const text = sources.environment(name.c_str());
        if (text != nullptr && *text != '\0') reader.Set(setting, text, name);
      }
      const std::string variable = setting.variable();
      const char* const text = sources.environment(variable.c_str());
      if (text != nullptr && *text != '\0') reader.Set(setting, text, variable);
    }
  }
  for (const auto& [name, text] : sources.flags) {
    const Setting* const setting = FindSetting(name);
    if (setting == nullptr) {
      reader.Report("--" + name, "unknown setting");
    } else {
      reader.Set(*setting, text, setting->flag());
    }
  }
  return reader.Finish();
}

std::string PrintConfig(const Config& config) {
  std::string text;
  std::string_view section;
  for (const Setting& setting : Settings()) {
    const std::string_view own = setting.section();
    if (own != section && !own.empty()) text.append(own).append(":\n");
    section = own;
    const std::string value = setting.access.get(config);
    const bool hidden = setting.is_secret && value != setting.access.get(Config{});
    YAML::Emitter printed;
    printed << (hidden ? std::string("********") : value);
    text.append(own.empty() ? "" : "  ")
        .append(setting.name.substr(own.empty() ? 0 : own.size() + 1))
        .append(": ")
        .append(printed.c_str())
        .append("\n");
  }
  return text;
}

}  // namespace sluice::settings
