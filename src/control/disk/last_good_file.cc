#include "control/disk/last_good_file.h"

#include <utility>

#include "control/record_text.h"

namespace sluice::control {
namespace {

constexpr std::string_view kLastGood = "last-good";

}  // namespace

Result<std::optional<Version>> LastGoodFile::Load() {
  auto content = directory_.Read(kLastGood);
  if (!content) return content.error();
  if (!*content) return std::optional<Version>();
  auto version = ParseVersionFile(**content);
  if (!version) {
    return Error{version.error().code,
                 directory_.PathOf(kLastGood) + ": " + version.error().message};
  }
  return std::optional(std::move(*version));
}

std::optional<Error> LastGoodFile::Save(const Version& version) {
  return directory_.Replace(kLastGood, ToFile(version));
}

Result<RecordTable> LastGoodFile::LoadRecords() {
  auto loaded = records_.Load();
  if (!loaded) return loaded.error();
  if (!loaded->damage.empty()) {
    // A position that no store knows: what is missing is not skipped by the next read.
    RecordCursor cursor = loaded->table.cursor();
    cursor.time -= Micros{1};
    loaded->table.Apply({}, cursor);
  }
  return std::move(loaded->table);
}

std::optional<Error> LastGoodFile::SaveRecords(const RecordTable& records,
                                               std::span<const Record> changes, bool complete) {
  if (complete || records_.IsLong()) return records_.Replace(records, {});
  return records_.Append(
      {.cursor = records.cursor(), .records = std::vector<Record>(changes.begin(), changes.end())});
}

}  // namespace sluice::control
