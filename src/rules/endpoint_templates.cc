#include "rules/endpoint_templates.h"

#include "base/text_hash.h"

namespace sluice::rules {
namespace {

// Removes and returns the next non-empty segment of the path; empty if there is none.
std::string_view NextSegment(std::string_view& path) {
  std::size_t begin = 0;
  while (begin < path.size() && path[begin] == '/') ++begin;
  std::size_t end = begin;
  while (end < path.size() && path[end] != '/') ++end;
  const std::string_view segment = path.substr(begin, end - begin);
  path.remove_prefix(end);
  return segment;
}

bool IsRest(std::string_view segment) {
  return segment == "*" || (segment.starts_with('{') && segment.ends_with("...}"));
}

bool IsParameter(std::string_view segment) { return segment.starts_with('{') && !IsRest(segment); }

std::string Quoted(std::string_view text) { return std::string("'").append(text).append("'"); }

std::optional<std::string> SegmentProblem(std::string_view segment) {
  if (segment == "*") return std::nullopt;
  if (segment.find('*') != std::string_view::npos) {
    return Quoted(segment) + ": '*' must be a whole segment, the last one";
  }
  if (segment.find_first_of("{}") == std::string_view::npos) return std::nullopt;
  if (!segment.starts_with('{') || !segment.ends_with('}')) {
    return Quoted(segment) + ": a parameter must be a whole segment, such as {id}";
  }
  std::string_view name = segment.substr(1, segment.size() - 2);
  if (name.ends_with("...")) name.remove_suffix(3);
  if (name.empty()) return Quoted(segment) + ": a parameter needs a name, such as {id}";
  if (name.find_first_of("{}.") != std::string_view::npos) {
    return Quoted(segment) + ": a parameter's name has no braces and no dots";
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> TemplateProblem(std::string_view text) {
  if (!text.starts_with('/')) return "must begin with '/'";
  if (text.find_first_of("?#") != std::string_view::npos) {
    return "has a '?' or '#', but endpoints are seen without their query";
  }
  bool ended = false;
  std::string_view path = text;
  for (auto segment = NextSegment(path); !segment.empty(); segment = NextSegment(path)) {
    if (ended) return "has segments after the one that stands for the rest";
    if (auto problem = SegmentProblem(segment)) return problem;
    ended = IsRest(segment);
  }
  return std::nullopt;
}

EndpointTemplates::EndpointTemplates(std::span<const std::string> templates) {
  nodes_.emplace_back();
  for (const std::string& text : templates) Add(text);
}

void EndpointTemplates::Add(std::string_view text) {
  std::uint32_t node = 0;
  std::string_view path = text;
  for (auto segment = NextSegment(path); !segment.empty(); segment = NextSegment(path)) {
    if (IsRest(segment)) {
      if (nodes_[node].rest.empty()) nodes_[node].rest = text;
      return;
    }
    if (!IsParameter(segment)) {
      node = AddLiteralChild(node, segment);
      continue;
    }
    if (nodes_[node].parameter == kNone) {
      nodes_[node].parameter = static_cast<std::uint32_t>(nodes_.size());
      nodes_.emplace_back();
    }
    node = nodes_[node].parameter;
  }
  if (nodes_[node].whole.empty()) nodes_[node].whole = text;
}

std::uint32_t EndpointTemplates::LiteralChild(std::uint32_t from, std::string_view segment) const {
  const Edge* const edge = edges_.Find(HashText(segment, from), [&](const Edge& each) {
    return each.from == from && each.segment == segment;
  });
  return edge == nullptr ? kNone : edge->to;
}

std::uint32_t EndpointTemplates::AddLiteralChild(std::uint32_t from, std::string_view segment) {
  const std::uint32_t known = LiteralChild(from, segment);
  if (known != kNone) return known;
  edges_.GrowFor(++edge_count_, [](const Edge& each) { return HashText(each.segment, each.from); });
  const auto to = static_cast<std::uint32_t>(nodes_.size());
  nodes_.emplace_back();
  edges_.Empty(HashText(segment, from)) = {.from = from, .to = to, .segment = segment};
  return to;
}

std::string_view EndpointTemplates::Find(std::string_view path) const {
  return nodes_.empty() ? std::string_view() : FindFrom(0, path);
}

// The depth is bounded by the longest template. Each node is reached in one way only, so
// backtracking is bounded by the number of nodes.
std::string_view EndpointTemplates::FindFrom(std::uint32_t node, std::string_view path) const {
  const std::string_view segment = NextSegment(path);
  if (segment.empty()) return nodes_[node].whole;
  const std::uint32_t literal = LiteralChild(node, segment);
  if (literal != kNone) {
    const std::string_view found = FindFrom(literal, path);
    if (!found.empty()) return found;
  }
  if (nodes_[node].parameter != kNone) {
    const std::string_view found = FindFrom(nodes_[node].parameter, path);
    if (!found.empty()) return found;
  }
  return nodes_[node].rest;
}

}  // namespace sluice::rules
