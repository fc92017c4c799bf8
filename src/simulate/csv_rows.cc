#include "simulate/csv_rows.h"

#include <algorithm>
#include <utility>

namespace sluice::simulate {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

TakenRow Bad(std::size_t bytes, std::string problem) {
  return {.bytes = bytes, .kind = RowKind::kBad, .problem = std::move(problem)};
}

}  // namespace

TakenRow CsvRows::Take(std::string_view input, bool at_end, TraceRow& row) {
  TakenRow taken = Split(input, at_end);
  if (taken.bytes == 0 || taken.kind != RowKind::kCall) return taken;
  if (columns_.empty()) return ReadHeader(std::move(taken));
  if (fields_.size() != columns_.size()) {
    taken.kind = RowKind::kBad;
    taken.problem = std::to_string(fields_.size()) + " values, but the header names " +
                    std::to_string(columns_.size()) + " columns";
    return taken;
  }
  row.cost = 1;
  row.duration.reset();
  row.attributes.clear();
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    const std::string_view value = fields_[i];
    const Column& column = columns_[i];
    if (value.empty() && column.field != Field::kTime) continue;
    if (column.field == Field::kAttribute) {
      row.attributes.push_back({column.name, value});
    } else if (std::string problem = SetField(column.field, value, unit_, row); !problem.empty()) {
      taken.kind = RowKind::kBad;
      taken.problem = std::move(problem);
      return taken;
    }
  }
  return taken;
}

TakenRow CsvRows::Split(std::string_view input, bool at_end) {
  fields_.clear();
  const std::size_t size = LineSize(input, at_end);
  if (size == 0) return {};
  const std::string_view line = WithoutEnd(input.substr(0, size));
  if (line.empty()) return {.bytes = size};
  if (line.find('"') != std::string_view::npos) return SplitQuoted(input, at_end);
  SplitPlain(line);
  return {.bytes = size, .kind = RowKind::kCall};
}

void CsvRows::SplitPlain(std::string_view line) {
  while (true) {
    const std::size_t comma = line.find(',');
    fields_.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return;
    line.remove_prefix(comma + 1);
  }
}

// Field by field. What is wrong ends at the end of the line in which the record begins, so that a
// quote too many does not swallow what follows.
TakenRow CsvRows::SplitQuoted(std::string_view input, bool at_end) {
  const std::size_t first_line = LineSize(input, true);
  unquoted_.clear();
  // Never more than the record, so that views of it stay good.
  unquoted_.reserve(std::min(input.size(), kMaxRowBytes));
  std::size_t lines = 1;
  std::size_t at = 0;
  while (true) {
    if (at < input.size() && input[at] == '"') {
      const std::size_t begin = unquoted_.size();
      for (++at;; ++at) {
        if (at >= kMaxRowBytes || (at == input.size() && at_end)) {
          return Bad(first_line, "a quoted value has no end");
        }
        if (at == input.size()) return {};
        if (input[at] == '\n') ++lines;
        if (input[at] == '"') {
          if (at + 1 == input.size() && !at_end) return {};
          if (at + 1 == input.size() || input[at + 1] != '"') break;
          ++at;  // A doubled quote is one.
        }
        unquoted_ += input[at];
      }
      fields_.push_back(std::string_view(unquoted_).substr(begin));
      ++at;
    } else {
      const std::size_t end = std::min(input.find_first_of(",\n\"", at), input.size());
      if (end == input.size() && !at_end) return {};
      if (end < input.size() && input[end] == '"') {
        return Bad(first_line, "a quote inside a value that is not quoted; write \"a \"\"b\"\"\"");
      }
      fields_.push_back(WithoutEnd(input.substr(at, end - at)));
      at = end;
    }
    if (input.substr(at).starts_with("\r\n")) ++at;
    if (at == input.size() && !at_end) return {};
    if (at == input.size()) return {.bytes = at, .lines = lines, .kind = RowKind::kCall};
    if (input[at] == '\n') return {.bytes = at + 1, .lines = lines, .kind = RowKind::kCall};
    if (input[at] == '\r' && at + 1 == input.size()) {
      if (!at_end) return {};
      return {.bytes = at + 1, .lines = lines, .kind = RowKind::kCall};
    }
    if (input[at] != ',') return Bad(first_line, "after a closing quote a comma must follow");
    ++at;
  }
}

TakenRow CsvRows::ReadHeader(TakenRow taken) {
  taken.kind = RowKind::kUnreadable;
  if (fields_.front().starts_with(kByteOrderMark)) {
    fields_.front().remove_prefix(kByteOrderMark.size());
  }
  std::string names;
  for (const std::string_view name : fields_) {
    if (name.empty()) {
      taken.problem = "the header has a column without a name";
      return taken;
    }
    const auto same = [&](const Column& column) { return column.name == name; };
    if (std::any_of(columns_.begin(), columns_.end(), same)) {
      taken.problem = "the header names `" + std::string(name) + "` twice";
      return taken;
    }
    columns_.push_back({.name = std::string(name), .field = FieldOf(name)});
    names += names.empty() ? "" : ", ";
    names += name;
  }
  const auto is_time = [](const Column& column) { return column.field == Field::kTime; };
  if (std::none_of(columns_.begin(), columns_.end(), is_time)) {
    taken.problem = "the header has no column `time`; it names " + names;
    return taken;
  }
  taken.kind = RowKind::kNothing;
  return taken;
}

}  // namespace sluice::simulate
