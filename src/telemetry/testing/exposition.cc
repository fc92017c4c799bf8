#include "telemetry/testing/exposition.h"

#include <cctype>
#include <cstdlib>
#include <set>
#include <stdexcept>
#include <utility>

namespace sluice::telemetry::testing {
namespace {

struct Wrong : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class LineReader {
 public:
  explicit LineReader(std::string_view line) : rest_(line) {}

  bool Take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  void Expect(std::string_view text) {
    if (!Take(text)) throw Wrong("expected '" + std::string(text) + "' before: " + Rest());
  }
  std::string Name(bool colons) {
    std::size_t size = 0;
    while (size < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[size])) != 0 ||
                                   rest_[size] == '_' || (colons && rest_[size] == ':'))) {
      ++size;
    }
    if (size == 0 || std::isdigit(static_cast<unsigned char>(rest_[0])) != 0) {
      throw Wrong("no name before: " + Rest());
    }
    std::string name(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return name;
  }
  std::string Quoted() {
    Expect("\"");
    std::string text;
    while (!Take("\"")) {
      if (rest_.empty()) throw Wrong("a value without its end");
      if (Take("\\n")) {
        text += '\n';
      } else if (Take("\\\\")) {
        text += '\\';
      } else if (Take("\\\"")) {
        text += '"';
      } else if (rest_[0] == '\\') {
        throw Wrong("an unknown escape: " + Rest());
      } else {
        text += rest_[0];
        rest_.remove_prefix(1);
      }
    }
    return text;
  }
  std::string Rest() { return std::string(std::exchange(rest_, {})); }

 private:
  std::string_view rest_;
};

ParsedSample ReadSample(std::string_view line) {
  LineReader reader(line);
  ParsedSample sample;
  sample.name = reader.Name(true);
  if (reader.Take("{")) {
    do {
      const std::string name = reader.Name(false);
      reader.Expect("=");
      if (!sample.labels.emplace(name, reader.Quoted()).second) {
        throw Wrong("the label " + name + " is there twice");
      }
    } while (reader.Take(","));
    reader.Expect("}");
  }
  reader.Expect(" ");
  sample.value = reader.Rest();
  char* end = nullptr;
  std::strtod(sample.value.c_str(), &end);
  if (sample.value.empty() || *end != '\0') throw Wrong("no number: " + sample.value);
  return sample;
}

bool BelongsTo(const ParsedSample& sample, const ParsedFamily& family) {
  if (family.type != "histogram") return sample.name == family.name;
  return sample.name == family.name + "_sum" || sample.name == family.name + "_count" ||
         (sample.name == family.name + "_bucket" && sample.labels.contains("le"));
}

// Buckets of one series follow each other, then come _sum and _count.
void CheckHistogram(const ParsedFamily& family) {
  double end = -1;
  double so_far = 0;
  for (const ParsedSample& sample : family.samples) {
    const double value = std::strtod(sample.value.c_str(), nullptr);
    if (sample.name.ends_with("_bucket")) {
      const double le = std::strtod(sample.labels.at("le").c_str(), nullptr);
      if (le <= end) throw Wrong("buckets out of order");
      if (value < so_far) throw Wrong("a bucket with less than the one before it");
      end = le;
      so_far = value;
    } else if (sample.name.ends_with("_count")) {
      if (!(end > 1e300)) throw Wrong("no bucket +Inf");
      if (value != so_far) throw Wrong("the count is not that of the bucket +Inf");
      end = -1;
      so_far = 0;
    }
  }
}

class PageReader {
 public:
  explicit PageReader(Exposition& page) : page_(page) {}

  void ReadLine(std::string_view line) {
    LineReader reader(line);
    if (reader.Take("# HELP ")) {
      EndFamily();
      const std::string name = reader.Name(true);
      if (page_.Find(name) != nullptr) throw Wrong("the family " + name + " is there twice");
      reader.Expect(" ");
      page_.families.push_back({.name = name, .type = "", .help = reader.Rest(), .samples = {}});
    } else if (reader.Take("# TYPE ")) {
      if (page_.families.empty() || reader.Name(true) != page_.families.back().name ||
          !page_.families.back().type.empty()) {
        throw Wrong("TYPE without its HELP before it");
      }
      reader.Expect(" ");
      page_.families.back().type = reader.Rest();
    } else {
      ParsedSample sample = ReadSample(line);
      if (page_.families.empty() || !BelongsTo(sample, page_.families.back())) {
        throw Wrong("a sample outside of its family: " + sample.name);
      }
      if (!seen_.emplace(sample.name, sample.labels).second) {
        throw Wrong("the series is there twice");
      }
      page_.families.back().samples.push_back(std::move(sample));
    }
  }

  void EndFamily() {
    if (page_.families.empty()) return;
    const ParsedFamily& family = page_.families.back();
    if (family.help.empty() || family.type.empty()) throw Wrong(family.name + " is not explained");
    if (family.type == "histogram") CheckHistogram(family);
  }

 private:
  Exposition& page_;
  std::set<std::pair<std::string, std::map<std::string, std::string>>> seen_;
};

}  // namespace

const ParsedFamily* Exposition::Find(std::string_view family) const {
  for (const ParsedFamily& candidate : families) {
    if (candidate.name == family) return &candidate;
  }
  return nullptr;
}

std::string Exposition::Value(std::string_view name,
                              const std::map<std::string, std::string>& labels) const {
  for (const ParsedFamily& family : families) {
    for (const ParsedSample& sample : family.samples) {
      if (sample.name == name && sample.labels == labels) return sample.value;
    }
  }
  return "";
}

Exposition ParseExposition(std::string_view page) {
  Exposition result;
  PageReader reader(result);
  std::size_t number = 0;
  while (!page.empty()) {
    ++number;
    const std::size_t end = page.find('\n');
    if (end == std::string_view::npos) result.problems.emplace_back("the last line has no end");
    const std::string_view line = page.substr(0, end);
    page.remove_prefix(end == std::string_view::npos ? page.size() : end + 1);
    try {
      reader.ReadLine(line);
      if (page.empty()) reader.EndFamily();
    } catch (const Wrong& wrong) {
      result.problems.push_back("line " + std::to_string(number) + ": " + wrong.what() + " in " +
                                std::string(line));
    }
  }
  return result;
}

}  // namespace sluice::telemetry::testing
