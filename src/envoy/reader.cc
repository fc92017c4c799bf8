#include "envoy/reader.h"

#include <map>
#include <utility>
#include <variant>

#include "config_text/suggestion.h"
#include "config_text/yaml_tree.h"
#include "envoy/domain_tables.h"
#include "envoy/file_reader.h"
#include "rules/reader.h"

namespace sluice::envoy {
namespace {

class ConfigReading {
 public:
  explicit ConfigReading(const ReadOptions& options) : options_(options) {}

  void ReadFile(const FileContent& file) {
    if (file.content.size() > rules::kMaxFileBytes) {
      Refuse(file, {},
             "is larger than the " + std::to_string(rules::kMaxFileBytes) + " bytes that are read");
      return;
    }
    const auto parsed = config_text::YamlTree::Parse(file.content);
    if (const auto* error = std::get_if<config_text::YamlError>(&parsed)) {
      Refuse(file, error->position, error->message);
      return;
    }
    const config_text::YamlNode* root = std::get<config_text::YamlTree>(parsed).root();
    if (root == nullptr || root->kind == config_text::YamlKind::kNull) {
      Refuse(file, {}, "is empty; expected a `domain`");
      return;
    }
    config_text::Reading reading(file.path);
    ReadTree(reading, *root);
    for (config_text::Diagnostic& each : reading.TakeErrors()) {
      result_.errors.push_back(std::move(each));
    }
    for (config_text::Diagnostic& each : reading.TakeWarnings()) {
      result_.warnings.push_back(std::move(each));
    }
  }

  ReadResult Finish() {
    if (!result_.errors.empty()) return std::move(result_);
    for (Node* node : nodes_) {
      if (options_.prepare) options_.prepare(node->rule);
    }
    std::vector<std::unique_ptr<const Domain>> domains;
    for (auto& [name, found] : domains_) {
      domains.push_back(std::make_unique<const Domain>(std::move(found.tables)));
    }
    result_.config = std::make_shared<const Config>(
        std::move(domains), std::vector<const Node*>(nodes_.begin(), nodes_.end()));
    return std::move(result_);
  }

 private:
  struct FoundDomain {
    std::unique_ptr<DomainTables> tables;
    std::string file;  ///< The first that has it, and the line.
    int line = 0;
  };

  void Refuse(const FileContent& file, config_text::Position position, std::string message) {
    result_.errors.push_back({file.path, position, {}, std::move(message)});
  }

  void ReadTree(config_text::Reading& reading, const config_text::YamlNode& root) {
    FileReader reader(
        reading, config_text::Field{.node = &root, .parent = reading.root(), .key = root.position});
    const config_text::Field domain = reader.ReadDomain();
    if (!domain) return;
    const std::string name(domain->text);
    const auto [found, is_new] = domains_.try_emplace(name);
    if (is_new) {
      found->second = {.tables = std::make_unique<DomainTables>(name),
                       .file = reading.file(),
                       .line = domain->position.line};
    } else if (!options_.merge_domains) {
      reading.AddError(domain, "the domain " + config_text::Shown(name) + " is that of " +
                                   found->second.file + ", line " +
                                   std::to_string(found->second.line) +
                                   "; `envoy.merge_domains` lets several files describe one");
      return;
    }
    reader.ReadDescriptors(*found->second.tables, nodes_);
  }

  const ReadOptions& options_;
  std::map<std::string, FoundDomain, std::less<>> domains_;
  std::vector<Node*> nodes_;
  ReadResult result_;
};

}  // namespace

ReadResult Read(std::span<const FileContent> files, const ReadOptions& options) {
  ConfigReading reading(options);
  for (const FileContent& file : files) reading.ReadFile(file);
  return reading.Finish();
}

}  // namespace sluice::envoy
