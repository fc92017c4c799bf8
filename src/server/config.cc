#include "server/config.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include <yaml-cpp/yaml.h>

namespace sluice::server {
namespace {

const Setting* Find(std::string_view name) {
  const auto settings = Settings();
  const auto found = std::find_if(settings.begin(), settings.end(),
                                  [&](const Setting& known) { return known.name == name; });
  return found == settings.end() ? nullptr : &*found;
}

class Reading {
 public:
  void Set(const Setting& setting, std::string_view text, const std::string& where) {
    if (const auto mistake = setting.set(config_, text)) {
      Tell(where, setting.is_secret ? "not a value" : *mistake);
    }
  }
  void SetNamed(std::string_view name, std::string_view text, const std::string& where) {
    const Setting* const setting = Find(name);
    if (setting == nullptr) return Tell(where, "there is no setting '" + std::string(name) + "'");
    Set(*setting, text, where + ": " + std::string(name));
  }

  void ReadFile(const std::string& path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file) return Tell(path, "can't be read");
    try {
      const YAML::Node root = YAML::Load(text.str());
      if (root.IsMap()) {
        ReadMapping(root, "", path);
      } else if (!root.IsNull()) {
        Tell(path, "settings are a mapping, as in `http: { listen: 127.0.0.1:8080 }`");
      }
    } catch (const YAML::Exception& error) {
      Tell(At(path, error.mark), error.msg);
    }
  }

  void Tell(const std::string& where, const std::string& what) {
    mistakes_ += (mistakes_.empty() ? "" : "\n") + where + ": " + what;
  }

  Result<Config> Finish() {
    if (config_.http_listen.empty() && config_.resp_listen.empty() && config_.grpc_listen.empty() &&
        config_.http_tls.listen.empty() && config_.resp_tls.listen.empty() &&
        config_.grpc_tls.listen.empty()) {
      Tell("http.listen, resp.listen, grpc.listen", "a server must listen somewhere");
    }
    CheckTls("http_tls", config_.http_tls);
    CheckTls("resp_tls", config_.resp_tls);
    CheckTls("grpc_tls", config_.grpc_tls);
    if (!config_.admin_token.empty() && !config_.admin_token_file.empty()) {
      Tell("admin", "either token or token_file, not both");
    }
    if (!mistakes_.empty()) return Error{ErrorCode::kInvalidOptions, mistakes_};
    return config_;
  }

 private:
  void CheckTls(const std::string& section, const TlsSettings& tls) {
    if (tls.listen.empty() != tls.certificate.empty()) {
      Tell(section, "listen and certificate go together");
    }
    if ((tls.client_certificates == "off") != tls.client_ca.empty()) {
      Tell(section, "client_ca says whose client_certificates are good: both, or neither");
    }
  }

  static std::string At(const std::string& path, const YAML::Mark& mark) {
    if (mark.is_null()) return path;
    return path + ":" + std::to_string(mark.line + 1) + ":" + std::to_string(mark.column + 1);
  }

  // `prefix` is empty or ends with a dot.
  void ReadMapping(const YAML::Node& mapping, const std::string& prefix, const std::string& path) {
    for (const auto& entry : mapping) {
      const std::string where = At(path, entry.first.Mark());
      if (!entry.first.IsScalar()) {
        Tell(where, "a setting has a name");
        continue;
      }
      const std::string name = prefix + entry.first.Scalar();
      const YAML::Node& value = entry.second;
      if (value.IsScalar()) {
        SetNamed(name, value.Scalar(), where);
      } else if (value.IsSequence()) {
        SetNamed(name, Joined(value, where), where);
      } else if (value.IsMap() && Find(name) != nullptr) {
        SetNamed(name, JoinedPairs(value, where), where);
      } else if (value.IsMap()) {
        ReadMapping(value, name + ".", path);
      } else {
        Tell(where, name + ": has no value");
      }
    }
  }

  std::string Joined(const YAML::Node& items, const std::string& where) {
    std::string text;
    for (const YAML::Node& item : items) {
      if (!item.IsScalar()) Tell(where, "a list holds plain values");
      if (item.IsScalar()) text += (text.empty() ? "" : ",") + item.Scalar();
    }
    return text.empty() ? "none" : text;
  }

  std::string JoinedPairs(const YAML::Node& pairs, const std::string& where) {
    std::string text;
    for (const auto& pair : pairs) {
      if (!pair.first.IsScalar() || !pair.second.IsScalar()) {
        Tell(where, "a name and a value are expected");
        continue;
      }
      text += (text.empty() ? "" : ",") + pair.first.Scalar() + "=" + pair.second.Scalar();
    }
    return text.empty() ? "none" : text;
  }

  Config config_;
  std::string mistakes_;
};

}  // namespace

Result<Config> ReadConfig(const ConfigSources& sources) {
  Reading reading;
  if (!sources.file.empty()) reading.ReadFile(sources.file);
  if (sources.environment) {
    for (const Setting& setting : Settings()) {
      const std::string variable = setting.variable();
      const char* const text = sources.environment(variable.c_str());
      if (text != nullptr && *text != '\0') reading.Set(setting, text, variable);
    }
  }
  for (const auto& [name, text] : sources.flags) {
    const Setting* const setting = Find(name);
    if (setting == nullptr) {
      reading.Tell("--" + name, "there is no such setting");
    } else {
      reading.Set(*setting, text, setting->flag());
    }
  }
  return reading.Finish();
}

std::string PrintConfig(const Config& config) {
  std::string text;
  std::string section;
  for (const Setting& setting : Settings()) {
    const std::string name(setting.name);
    const auto dot = name.find('.');
    const std::string its_section = dot == std::string::npos ? "" : name.substr(0, dot);
    if (its_section != section && !its_section.empty()) text += its_section + ":\n";
    section = its_section;
    const bool hidden = setting.is_secret && setting.get(config) != setting.get(Config{});
    YAML::Emitter value;
    value << (hidden ? std::string("********") : setting.get(config));
    text += (its_section.empty() ? "" : "  ") +
            (dot == std::string::npos ? name : name.substr(dot + 1)) + ": " + value.c_str() + "\n";
  }
  return text;
}

}  // namespace sluice::server
