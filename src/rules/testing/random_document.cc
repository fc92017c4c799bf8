#include "rules/testing/random_document.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace sluice::rules::testing {
namespace {

// Indents all lines but the first.
std::string Indented(const std::string& lines, std::size_t indent) {
  std::string out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    out += lines[i];
    if (lines[i] == '\n' && i + 1 < lines.size()) out.append(indent, ' ');
  }
  return out;
}

}  // namespace

std::string RandomDocument::Comment(const std::string& indent) {
  static constexpr std::array<std::string_view, 6> kComments{
      "", "", "", "# a comment\n", "\n# - id: old\n#   limit: 1/s\n\n", "\n\n"};
  const std::string_view comment = kComments[static_cast<std::size_t>(Below(kComments.size()))];
  return comment.empty() || comment[0] == '\n' ? std::string(comment)
                                               : indent + std::string(comment);
}

std::string RandomDocument::Rate() {
  static constexpr std::array<std::string_view, 3> kWindows{" per minute", "/s", " per 10s"};
  return std::to_string(2 + Below(1000)) +
         std::string(kWindows[static_cast<std::size_t>(Below(kWindows.size()))]);
}

std::string RandomDocument::Rule(const std::string& id) {
  std::vector<std::string> fields{Below(4) == 0 ? "name: \"" + id + "\"" : "id: " + id};
  const bool flow = Below(3) == 0;
  if (Below(3) == 0) fields.push_back("match: { endpoint: \"/v1/*\", methods: [GET, post] }");
  if (Below(3) == 0) fields.emplace_back("description: \"a # b, {c: 'd'} [e\"");
  if (Below(4) == 0) fields.emplace_back("per: [api_key, endpoint]");
  if (Below(4) == 0) fields.emplace_back("shadow: yes");
  if (Below(4) == 0) fields.emplace_back("enabled: false");
  if (!flow && Below(5) == 0) fields.emplace_back("description: |\n  first\n  # no comment");
  if (!flow && Below(4) == 0) fields.emplace_back("override:\n  sk_1: " + Rate() + "  # vip");
  switch (Below(3)) {
    case 0:
      fields.push_back("limit: " + Rate());
      break;
    case 1:
      fields.push_back("algorithm: sliding_window_counter");
      fields.push_back("limit: " + std::to_string(1 + Below(100)));
      fields.emplace_back("window: 60");
      break;
    default:
      fields.push_back("limits: { a: " + Rate() + ", b: { limit: " + Rate() + ", cost: 2 } }");
      fields.erase(std::remove_if(fields.begin(), fields.end(),
                                  [](const std::string& f) { return f.starts_with("override"); }),
                   fields.end());
      break;
  }
  bool described = false;
  std::string out = flow ? "{ " : "";
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].starts_with("description")) {
      if (described) continue;
      described = true;
    }
    if (flow) {
      out += (out.size() > 2 ? ", " : "") + fields[i];
    } else {
      out += fields[i] +
             (Below(8) == 0 && fields[i].find('\n') == std::string::npos ? " # its own\n" : "\n");
    }
  }
  return flow ? out + " }\n" : out;
}

std::string RandomDocument::Tier() {
  switch (Below(3)) {
    case 0:
      return Rate() + "\n";
    case 1:
      return "{ limit: " + Rate() + ", burst_multiplier: 2 }\n";
    default:
      return "limit: " + Rate() + "\nmax_cost: " + std::to_string(1000 + Below(100)) + "\n";
  }
}

std::string RandomDocument::Make() {
  std::string out = Comment("");
  const int tiers = Below(4);
  if (tiers > 0 && Below(2) == 0) {
    out += "tiers:";
    out += Below(2) == 0 ? "  # the plans\n" : "\n";
    for (int i = 0; i < tiers; ++i) {
      out += Comment("  ");
      const std::string tier = Tier();
      const bool block = tier.starts_with("limit");
      out += "  t" + std::to_string(i) + ":" + (block ? "\n    " : " ") + Indented(tier, 4);
    }
  } else if (tiers > 0) {
    out += "tiers: {";
    for (int i = 0; i < tiers; ++i) {
      out += (i > 0 ? ", t" : "t") + std::to_string(i) + ": " + Rate();
      if (Below(3) == 0) out += "  # more\n  ";
    }
    out += "}\n";
  }
  const int rules = Below(5);
  const std::string indent(static_cast<std::size_t>(2 * Below(2)), ' ');
  const bool flow_list = Below(4) == 0;
  out += flow_list || rules == 0 ? "rules: [" : "rules:\n";
  for (int i = 0; i < rules; ++i) {
    std::string rule = Rule("r" + std::to_string(i));
    if (flow_list) {
      while (!rule.starts_with('{')) rule = Rule("r" + std::to_string(i));
      rule.pop_back();
      out += (i > 0 ? ",\n  " : "") + rule;
    } else {
      out += Comment(indent) + indent + "- " + Indented(rule, indent.size() + 2);
    }
  }
  if (flow_list || rules == 0) out += "]\n";
  out += Comment("");
  if (Below(2) == 0) out += "deny: [sk_bad, 203.0.113.0/24]\n" + Comment("");
  if (Below(5) == 0) out.pop_back();
  if (Below(3) != 0) return out;
  std::string with_returns = Below(2) == 0 ? "\xEF\xBB\xBF" : "";
  for (const char c : out) {
    if (c == '\n') with_returns += '\r';
    with_returns += c;
  }
  return with_returns;
}

}  // namespace sluice::rules::testing
