#include "server/key_source.h"

#include <array>
#include <cstdio>
#include <string_view>
#include <unordered_set>

#include "base/clock.h"
#include "base/parse_number.h"

namespace sluice::server {
namespace {

// SCAN of so many keys takes Redis about a tenth of a millisecond.
constexpr std::string_view kScanCount = "500";
constexpr std::size_t kNamesAtOnce = 1000;
constexpr std::string_view kKeyPrefix = "sluice:v1:";

Error InvalidCursor() {
  return {ErrorCode::kInvalidOptions, "the cursor is not one that this server gave"};
}

// Percent-encoded text has no character that means something in a pattern.
std::string PatternOf(const api::KeySelector& selector) {
  std::string pattern(kKeyPrefix);
  pattern.push_back('{');
  AppendPercentEncoded(selector.prefix, pattern);
  pattern.push_back('*');
  if (selector.rule.empty()) return pattern;
  pattern.append("}:");
  AppendPercentEncoded(selector.rule, pattern);
  return pattern.append(":*");
}

// Splits at the last occurrence of a separator. False: there is none.
bool SplitLast(std::string_view text, char separator, std::string_view& before,
               std::string_view& after) {
  const std::size_t at = text.rfind(separator);
  if (at == std::string_view::npos) return false;
  before = text.substr(0, at);
  after = text.substr(at + 1);
  return true;
}

}  // namespace

Result<KeyPortion> RedisKeySource::Next(const api::KeySelector& selector,
                                        const std::string& cursor) {
  const auto primaries = primaries_.List();
  if (!primaries) return primaries.error();
  std::string_view name;
  std::string_view place = "0";
  if (!cursor.empty() &&
      (!SplitLast(cursor, '/', name, place) || !ParseNumber<std::uint64_t>(place))) {
    return InvalidCursor();
  }
  std::size_t index = 0;
  while (index < primaries->size() && (*primaries)[index].name < name) ++index;
  if (index == primaries->size()) return KeyPortion{};
  const redis::PrimaryClients::Primary& primary = (*primaries)[index];
  if (primary.name != name) place = "0";  // The first, or one whose predecessor is gone.
  const auto scanned = redis::CallPrimary(
      primary, {"SCAN", place, "MATCH", PatternOf(selector), "COUNT", kScanCount},
      primaries_.timeout());
  if (!scanned) return scanned.error();
  const resp::Value reply = scanned->reply();
  if (reply.size() != 2) return Error{ErrorCode::kStoreError, primary.name + ": no reply to SCAN"};
  KeyPortion portion{.scanned = ParseNumber<std::uint64_t>(kScanCount).value_or(0)};
  std::unordered_set<std::string_view> known;  // SCAN may return a key twice.
  for (const resp::Value element : reply.at(1)) {
    std::string_view text = element.text();
    if (!text.starts_with(kKeyPrefix) || text.find('#') != std::string_view::npos) continue;
    text.remove_prefix(kKeyPrefix.size());
    std::string tag;
    Key key;
    if (!ParseKeyName(text, tag, key) || !selector.Matches(key) || !known.insert(text).second) {
      continue;
    }
    portion.keys.push_back({.key = OwnedKey(key)});
    if (names_ != nullptr) portion.keys.back().times = names_->Find(key);
  }
  const std::string_view next = reply.at(0).text();
  if (next != "0") {
    portion.cursor = primary.name + "/" + std::string(next);
  } else if (index + 1 < primaries->size()) {
    portion.cursor = (*primaries)[index + 1].name + "/0";
  }
  return portion;
}

bool MemoryKeySource::is_complete() const { return names_ != nullptr && !names_->has_dropped(); }

std::string MemoryKeySource::Seal(const std::string& text) const {
  const KeyHash hash = sealer_({.scope = "cursor", .tag = text});
  std::array<char, 40> seal{};
  std::snprintf(seal.data(), seal.size(), "%016llx%016llx",
                static_cast<unsigned long long>(hash.high),
                static_cast<unsigned long long>(hash.low));
  return text + "-" + seal.data();
}

Result<KeyPortion> MemoryKeySource::Next(const api::KeySelector& selector,
                                         const std::string& cursor) {
  KeyPortion portion;
  if (names_ == nullptr) return portion;
  store::KeyDirectories::Position position;
  if (!cursor.empty()) {
    std::string_view text;
    std::string_view seal;
    if (!SplitLast(cursor, '-', text, seal) || Seal(std::string(text)) != cursor) {
      return InvalidCursor();
    }
    unsigned long long next = 0;
    unsigned long long end = 0;
    std::size_t loop = 0;
    int began = 0;
    if (std::sscanf(std::string(text).c_str(), "%zu.%d.%llu.%llu", &loop, &began, &next, &end) !=
        4) {
      return InvalidCursor();
    }
    position = {.loop = loop, .began = began != 0, .in_loop = {.next = next, .end = end}};
  }
  std::vector<store::SeenKey> seen;
  const bool more = names_->Read(position, kNamesAtOnce, seen);
  portion.scanned = seen.size();
  const WallTime now = TheSystemClock().Now();
  for (store::SeenKey& one : seen) {
    const Key key = one.key.view();
    if (!selector.Matches(key) || !store_.IsLive(key, now)) continue;
    portion.keys.push_back({.key = std::move(one.key), .times = one.times});
  }
  if (more) {
    portion.cursor =
        Seal(std::to_string(position.loop) + "." + (position.began ? "1" : "0") + "." +
             std::to_string(position.in_loop.next) + "." + std::to_string(position.in_loop.end));
  }
  return portion;
}

}  // namespace sluice::server
