#include "envoy/testing/read.h"

#include <gtest/gtest.h>

#include "base/duration.h"

namespace sluice::envoy::testing {
namespace {

std::string Describe(const ReadResult& read, std::string_view file) {
  std::string text;
  const auto add = [&](const std::vector<config_text::Diagnostic>& list, std::string_view kind) {
    for (const config_text::Diagnostic& error : list) {
      std::string line = config_text::Describe(error);
      if (!file.empty() && line.starts_with(file)) line.erase(0, file.size() + 1);
      text.append(line.starts_with(' ') ? line.substr(1) : line).append(kind).append("\n");
    }
  };
  add(read.errors, "");
  add(read.warnings, " (warning)");
  return text;
}

}  // namespace

std::shared_ptr<const Config> ReadOk(std::string_view yaml) {
  const FileContent file{.path = "a.yaml", .content = std::string(yaml)};
  ReadResult read = Read({&file, 1});
  EXPECT_EQ(Describe(read, ""), "");
  return read.config;
}

std::string Complaints(std::string_view yaml) {
  return Complaints({{.path = "a.yaml", .content = std::string(yaml)}});
}

std::string Complaints(std::initializer_list<FileContent> files, const ReadOptions& options) {
  const ReadResult read = Read({files.begin(), files.size()}, options);
  return Describe(read, files.size() == 1 ? "a.yaml" : "");
}

std::string Met(const Config& config, std::string_view domain, const std::vector<Entry>& entries) {
  const Domain* found = config.FindDomain(domain);
  if (found == nullptr) return "no domain";
  FoundKey key;
  const Node* node = found->Find(entries, key);
  if (node == nullptr) return "nothing";
  std::string text = node->rule.id + " ";
  text += node->unlimited
              ? "unlimited"
              : std::to_string(node->requests_per_unit) + "/" + DurationName(node->limit().window);
  text += " ";
  AppendKeyName(key.key(), text);
  return text;
}

}  // namespace sluice::envoy::testing
