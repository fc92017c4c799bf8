#include "rules/field_path.h"

#include <algorithm>
#include <vector>

namespace sluice::rules {
namespace {

constexpr std::size_t kMaxShown = 64;

bool IsPlain(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '<';
  });
}

void AppendName(std::string_view name, std::string& out) {
  const bool cut = name.size() > kMaxShown;
  const std::string_view shown = name.substr(0, kMaxShown);
  if (IsPlain(name) && !cut) {
    if (!out.empty()) out += '.';
    out += shown;
    return;
  }
  out += "[\"";
  out += shown;
  out += cut ? "…\"]" : "\"]";
}

}  // namespace

std::string Describe(const FieldPath* path, std::string_view name) {
  std::vector<const FieldPath*> way;
  for (; path != nullptr && path->parent != nullptr; path = path->parent) way.push_back(path);
  std::string text;
  for (auto step = way.rbegin(); step != way.rend(); ++step) {
    if ((*step)->is_item) {
      text += '[' + std::to_string((*step)->index) + ']';
    } else {
      AppendName((*step)->name, text);
    }
  }
  if (!name.empty()) AppendName(name, text);
  return text;
}

}  // namespace sluice::rules
