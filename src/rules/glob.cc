#include "rules/glob.h"

#include <algorithm>
#include <cstring>

namespace sluice::rules {

std::optional<std::string> GlobProblem(std::string_view text) {
  if (text.empty()) return "is empty, and so matches nothing";
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') continue;
    if (i + 1 == text.size()) {
      return "ends with '\\', which takes the next character as it is; for a '\\' write '\\\\'";
    }
    ++i;
  }
  return std::nullopt;
}

std::optional<Glob> Glob::Compile(std::string_view text) {
  if (GlobProblem(text)) return std::nullopt;
  Glob glob;
  Segment segment;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '*') {
      glob.segments_.push_back(segment);
      // Two in a row say no more than one.
      while (i + 1 < text.size() && text[i + 1] == '*') ++i;
      segment = {.begin = static_cast<std::uint32_t>(glob.bytes_.size())};
      continue;
    }
    const bool any = text[i] == '?';
    if (text[i] == '\\') ++i;
    glob.bytes_.push_back(text[i]);
    glob.any_.push_back(any);
    ++segment.size;
    if (any) segment.literal = false;
  }
  glob.segments_.push_back(segment);
  return glob;
}

bool Glob::MatchesAt(const Segment& segment, const char* at) const {
  if (segment.size == 0) return true;  // `at` may be null then.
  if (segment.literal) return std::memcmp(bytes_.data() + segment.begin, at, segment.size) == 0;
  for (std::uint32_t i = 0; i < segment.size; ++i) {
    const std::uint32_t j = segment.begin + i;
    if (!any_[j] && bytes_[j] != at[i]) return false;
  }
  return true;
}

std::size_t Glob::FindSegment(const Segment& segment, std::string_view value) const {
  if (segment.size > value.size()) return std::string_view::npos;
  if (segment.literal) {
    // Unlike string_view::find, this takes linear time for every input.
    const void* found =
        memmem(value.data(), value.size(), bytes_.data() + segment.begin, segment.size);
    if (found == nullptr) return std::string_view::npos;
    return static_cast<std::size_t>(static_cast<const char*>(found) - value.data());
  }
  for (std::size_t i = 0; i + segment.size <= value.size(); ++i) {
    if (MatchesAt(segment, value.data() + i)) return i;
  }
  return std::string_view::npos;
}

bool Glob::Matches(std::string_view value) const {
  const Segment& first = segments_.front();
  if (segments_.size() == 1) return value.size() == first.size && MatchesAt(first, value.data());
  const Segment& last = segments_.back();
  if (value.size() < std::size_t{first.size} + last.size) return false;
  if (!MatchesAt(first, value.data())) return false;
  if (!MatchesAt(last, value.data() + value.size() - last.size)) return false;
  value.remove_prefix(first.size);
  value.remove_suffix(last.size);
  // The leftmost match of each segment leaves the most text for the following ones.
  for (std::size_t i = 1; i + 1 < segments_.size(); ++i) {
    const std::size_t at = FindSegment(segments_[i], value);
    if (at == std::string_view::npos) return false;
    value.remove_prefix(at + segments_[i].size);
  }
  return true;
}

bool Glob::IsJustLiteral() const {
  const auto texts = std::count_if(segments_.begin(), segments_.end(),
                                   [](const Segment& segment) { return segment.size > 0; });
  return texts == 1 && std::none_of(any_.begin(), any_.end(), [](bool any) { return any; });
}

std::vector<Glob::Literal> Glob::Literals() const {
  std::vector<Literal> literals;
  for (std::size_t p = 0; p < segments_.size(); ++p) {
    const std::uint32_t end = segments_[p].begin + segments_[p].size;
    for (std::uint32_t i = segments_[p].begin; i < end;) {
      std::uint32_t next = i;
      while (next < end && !any_[next]) ++next;
      if (next > i) {
        literals.push_back({.text = std::string_view(bytes_).substr(i, next - i),
                            .at_begin = p == 0 && i == 0,
                            .at_end = p + 1 == segments_.size() && next == bytes_.size()});
      }
      i = next + 1;
    }
  }
  return literals;
}

}  // namespace sluice::rules
