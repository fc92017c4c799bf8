#include "config_text/field_path.h"

#include <algorithm>
#include <vector>

#include "base/ascii.h"

namespace sluice::config_text {
namespace {

constexpr std::size_t kMaxName = 64;

bool IsPlain(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return IsLetter(c) || IsDigit(c) || c == '_' || c == '-' || c == '<';
  });
}

void AppendName(std::string_view name, std::string& out) {
  const bool cut = name.size() > kMaxName;
  const std::string_view shown = name.substr(0, kMaxName);
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

}  // namespace sluice::config_text
