#include "control/version.h"

#include <array>
#include <utility>

#include "base/fingerprint.h"
#include "base/parse_number.h"

namespace sluice::control {
namespace {

constexpr std::array<std::string_view, 4> kSourceNames{"api", "seed", "restored", "recovered"};
constexpr std::size_t kTagDigits = 12;

}  // namespace

std::string ToText(const VersionId& id) {
  return std::to_string(id.epoch) + '.' + std::to_string(id.number);
}

std::optional<VersionId> ParseVersionId(std::string_view text) {
  VersionId id;
  if (const std::size_t dot = text.find('.'); dot != std::string_view::npos) {
    const auto epoch = ParseNumber<std::uint64_t>(text.substr(0, dot));
    if (!epoch || *epoch == 0) return std::nullopt;
    id.epoch = *epoch;
    text.remove_prefix(dot + 1);
  }
  const auto number = ParseNumber<std::uint64_t>(text);
  if (!number || *number == 0) return std::nullopt;
  id.number = *number;
  return id;
}

std::string EntityTag(const VersionRef& version) {
  return '"' + ToText(version.id) + '-' + version.hash.substr(0, kTagDigits) + '"';
}

std::string_view NameOf(VersionSource source) {
  return kSourceNames[static_cast<std::size_t>(source)];
}

std::optional<VersionSource> ParseVersionSource(std::string_view name) {
  for (std::size_t i = 0; i < kSourceNames.size(); ++i) {
    if (kSourceNames[i] == name) return static_cast<VersionSource>(i);
  }
  return std::nullopt;
}

Version MakeVersion(const VersionId& id, std::string text, VersionInfo info) {
  info.ref = {.id = id, .hash = Fingerprint(text)};
  info.bytes = text.size();
  return {.info = std::move(info), .text = std::move(text)};
}

}  // namespace sluice::control
