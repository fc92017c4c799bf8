#include "entries_file.h"

#include <cstdio>
#include <utility>

#include "base/json_reader.h"
#include "base/read_file.h"
#include "match/entry_text.h"

namespace sluice::app {

namespace {

constexpr std::size_t kMaxEntriesFile = std::size_t{256} << 20;

}  // namespace

std::shared_ptr<const match::EntrySet> LoadEntries(const std::string& path) {
  match::EntryTable table;
  if (path.empty()) return table.Snapshot();
  const auto fail = [&](const std::string& message) {
    std::fprintf(stderr, "%s: %s\n", path.c_str(), message.c_str());
    return nullptr;
  };
  const auto text = ReadFile(path, kMaxEntriesFile);
  if (!text) return fail(text.error().message);
  JsonDocument document;
  const auto json = document.Parse(*text);
  if (!json) return fail(std::string(document.error()));
  match::EntryListResult read = match::ReadEntries(*json, {.is_file = true});
  if (read.error) return fail(read.error->field + ": " + read.error->message);
  for (match::Entry& entry : read.entries) table.Put(std::move(entry));
  return table.Snapshot();
}

}  // namespace sluice::app
