#include "control/disk/lazy_last_good.h"

namespace sluice::control {

// Null: there is no directory yet.
Result<LastGoodFile*> LazyLastGood::FileOf(Result<StateDirectory*> directory) {
  if (!directory) return directory.error();
  if (*directory == nullptr) return nullptr;
  if (!file_) file_.emplace(**directory);
  return &*file_;
}

Result<std::optional<Version>> LazyLastGood::Load() {
  const auto file = FileOf(directory_.OpenIfExists());
  if (!file) return file.error();
  return *file == nullptr ? std::optional<Version>() : (*file)->Load();
}

std::optional<Error> LazyLastGood::Save(const Version& version) {
  const auto file = FileOf(directory_.Open());
  return file ? (*file)->Save(version) : file.error();
}

Result<RecordTable> LazyLastGood::LoadRecords() {
  const auto file = FileOf(directory_.OpenIfExists());
  if (!file) return file.error();
  return *file == nullptr ? RecordTable() : (*file)->LoadRecords();
}

std::optional<Error> LazyLastGood::SaveRecords(const RecordTable& records,
                                               std::span<const Record> changes, bool complete) {
  const bool is_empty = records.cursor().sequence == 0;
  const auto file = FileOf(is_empty ? directory_.OpenIfExists() : directory_.Open());
  if (!file) return file.error();
  if (*file == nullptr) return std::nullopt;
  return (*file)->SaveRecords(records, changes, complete);
}

}  // namespace sluice::control
