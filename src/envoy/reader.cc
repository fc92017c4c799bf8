#include "envoy/reader.h"

#include <map>
#include <utility>
#include <variant>

#include "envoy/domain_tables.h"
#include "envoy/file_reader.h"
#include "rules/reader.h"
#include "rules/suggestion.h"
#include "rules/yaml_tree.h"

namespace sluice::envoy {
namespace {

class ConfigReading {
 public:
  explicit ConfigReading(const ReadOptions& options) : options_(options) {}

  void ReadFile(const SourceFile& file) {
    if (file.text.size() > rules::kMaxFileBytes) {
      Refuse(file, {},
             "is larger than the " + std::to_string(rules::kMaxFileBytes) + " bytes that are read");
      return;
    }
    const auto parsed = rules::YamlTree::Parse(file.text);
    if (const auto* error = std::get_if<rules::YamlError>(&parsed)) {
      Refuse(file, error->position, error->message);
      return;
    }
    const rules::YamlNode* root = std::get<rules::YamlTree>(parsed).root();
    if (root == nullptr || root->kind == rules::YamlKind::kNull) {
      Refuse(file, {}, "is empty; expected a `domain`");
      return;
    }
    rules::Reading reading(file.name);
    ReadTree(reading, *root);
    for (rules::Mistake& each : reading.TakeMistakes()) {
      result_.mistakes.push_back(std::move(each));
    }
    for (rules::Mistake& each : reading.TakeWarnings()) {
      result_.warnings.push_back(std::move(each));
    }
  }

  ReadResult Finish() {
    if (!result_.mistakes.empty()) return std::move(result_);
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

  void Refuse(const SourceFile& file, rules::Position position, std::string message) {
    result_.mistakes.push_back({file.name, position, {}, std::move(message)});
  }

  void ReadTree(rules::Reading& reading, const rules::YamlNode& root) {
    FileReader reader(reading,
                      rules::Field{.node = &root, .parent = reading.root(), .key = root.position});
    const rules::Field domain = reader.ReadDomain();
    if (!domain) return;
    const std::string name(domain->text);
    const auto [found, is_new] = domains_.try_emplace(name);
    if (is_new) {
      found->second = {.tables = std::make_unique<DomainTables>(name),
                       .file = reading.file(),
                       .line = domain->position.line};
    } else if (!options_.merge_domains) {
      reading.Wrong(domain, "the domain " + rules::Shown(name) + " is that of " +
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

ReadResult Read(std::span<const SourceFile> files, const ReadOptions& options) {
  ConfigReading reading(options);
  for (const SourceFile& file : files) reading.ReadFile(file);
  return reading.Finish();
}

}  // namespace sluice::envoy
