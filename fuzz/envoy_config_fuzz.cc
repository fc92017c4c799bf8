// Any bytes are read as files of Envoy's rate limit service, with a NUL between two: they are
// refused with words, or what comes out answers requests, and can be said in rules of ours.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "envoy/reader.h"
#include "own_rules.h"
#include "rules/reader.h"

namespace {

namespace envoy = sluice::envoy;

constexpr std::size_t kFewLimits = 20;

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

std::vector<sluice::FileContent> FilesIn(std::string_view text) {
  std::vector<sluice::FileContent> files;
  while (true) {
    const std::size_t end = text.find('\0');
    files.push_back({.path = "file", .content = std::string(text.substr(0, end))});
    if (end == std::string_view::npos) return files;
    text.remove_prefix(end + 1);
  }
}

void CheckWords(const std::vector<sluice::config_text::Diagnostic>& errors) {
  for (const sluice::config_text::Diagnostic& error : errors) {
    Require(!error.message.empty(), "an error without words");
    Require(Describe(error).find('\n') == std::string::npos, "a message is not one line");
  }
}

void Ask(const envoy::Config& config) {
  envoy::FoundKey key;
  const std::vector<std::vector<envoy::Entry>> requests = {
      {}, {{"key", "value"}}, {{"key", ""}, {"subkey", "sub*"}}, {{"a", "b"}, {"a", "b"}}};
  for (const auto& domain : config.domains()) {
    Require(config.FindDomain(domain->name()) == domain.get(), "a domain is not found");
    for (const auto& entries : requests) {
      domain->KeyOf(entries, key);
      if (const envoy::Node* node = domain->Find(entries, key)) {
        Require(key.key().scope == node->scope, "a key of another's");
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto files = FilesIn({reinterpret_cast<const char*>(data), size});
  const envoy::ReadResult read = envoy::Read(files, {.merge_domains = true, .prepare = {}});
  CheckWords(read.errors);
  CheckWords(read.warnings);
  Require((read.config != nullptr) == read.errors.empty(), "refused without a word");
  if (!read.config) return 0;
  for (const envoy::Node* node : read.config->nodes()) {
    Require(node->unlimited || node->limit().reject_all || node->requests_per_unit > 0,
            "a limit that holds nothing");
    Require(!node->scope.empty() && !node->rule.id.empty(), "a limit without a name");
  }
  Ask(*read.config);
  if (read.config->nodes().size() > kFewLimits) return 0;
  const sluice::app::OwnRules own = sluice::app::WriteOwnRules(*read.config);
  Require(sluice::rules::Read("own", own.yaml).file.has_value(), "rules that are not right");
  return 0;
}
