#include "control/record_text.h"

#include <algorithm>
#include <utility>

#include "base/fingerprint.h"
#include "base/json_reader.h"
#include "base/json_writer.h"
#include "base/parse_number.h"

namespace sluice::control {
namespace {

// The longest first line of a batch: a size, a hash.
constexpr std::size_t kMaxBatchLine = 100;
constexpr std::string_view kAuditBegin = R"({"sequence":)";

Error NoRecord(const std::string& why) {
  return {ErrorCode::kForeignValue, "not a record of the rule service: " + why};
}

/// Reads the members of one JSON object. Members of another type count as missing.
class RecordReader {
 public:
  explicit RecordReader(std::string_view json) : object_(document_.Parse(json)) {
    if (!object_ || !object_->is_object()) {
      error_ = NoRecord(object_ ? "not a JSON object" : std::string(document_.error()));
    } else if (const auto format = Number("format"); !format) {
      error_ = NoRecord("no format");
    } else if (*format > kRecordFormat) {
      error_ = Error{ErrorCode::kStoreError, "record of format " + std::to_string(*format) +
                                                 ", which is newer than this build (reads " +
                                                 std::to_string(kRecordFormat) + ")"};
    }
  }

  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

  [[nodiscard]] std::optional<std::uint64_t> Number(std::string_view name) const {
    const auto member = object_->Find(name);
    const auto text = member ? member->Number() : std::nullopt;
    return text ? ParseNumber<std::uint64_t>(*text) : std::nullopt;
  }
  [[nodiscard]] std::string Text(std::string_view name) const {
    const auto member = object_->Find(name);
    const auto text = member ? member->String() : std::nullopt;
    return std::string(text.value_or(std::string_view()));
  }
  [[nodiscard]] WallTime Time(std::string_view name) const {
    return WallTime{Micros{static_cast<std::int64_t>(Number(name).value_or(0))}};
  }
  [[nodiscard]] VersionId Id(std::string_view name) const {
    return ParseVersionId(Text(name)).value_or(VersionId{});
  }
  [[nodiscard]] Origin ReadOrigin() const {
    return {.author = Text("author"),
            .authentication = Text("authentication"),
            .address = Text("address")};
  }

 private:
  JsonDocument document_;
  std::optional<JsonValue> object_;
  std::optional<Error> error_;
};

/// Leaves out empty members.
class RecordWriter {
 public:
  explicit RecordWriter(std::string& out) : json_(out) { json_.BeginObject(); }

  void Text(std::string_view name, std::string_view text) {
    if (!text.empty()) json_.Key(name).String(text);
  }
  void Number(std::string_view name, std::uint64_t number) { json_.Key(name).Uint(number); }
  void Time(std::string_view name, WallTime time) {
    json_.Key(name).Int(time.time_since_epoch().count());
  }
  void Id(std::string_view name, const VersionId& id) {
    if (id.number != 0) json_.Key(name).String(ToText(id));
  }
  void WriteOrigin(const Origin& origin) {
    Text("author", origin.author);
    Text("authentication", origin.authentication);
    Text("address", origin.address);
  }
  void End() { json_.EndObject(); }

 private:
  JsonWriter json_;
};

}  // namespace

std::string ToJson(const VersionInfo& info) {
  std::string out;
  RecordWriter record(out);
  record.Number("format", kRecordFormat);
  record.Id("version", info.ref.id);
  record.Text("hash", info.ref.hash);
  record.Number("bytes", info.bytes);
  record.Time("time", info.time);
  record.Text("source", NameOf(info.source));
  record.WriteOrigin(info.origin);
  record.Text("message", info.message);
  record.Id("restores", info.restores);
  record.Text("idempotency_key", info.idempotency_key);
  record.End();
  return out;
}

Result<VersionInfo> ParseVersionInfo(std::string_view json) {
  const RecordReader record(json);
  if (record.error()) return *record.error();
  VersionInfo info{.ref = {.id = record.Id("version"), .hash = record.Text("hash")},
                   .origin = record.ReadOrigin(),
                   .time = record.Time("time"),
                   .message = record.Text("message"),
                   .restores = record.Id("restores"),
                   .idempotency_key = record.Text("idempotency_key"),
                   .bytes = record.Number("bytes").value_or(0)};
  if (info.ref.id.number == 0 || info.ref.hash.empty()) return NoRecord("no version or no hash");
  info.source = ParseVersionSource(record.Text("source")).value_or(VersionSource::kApi);
  return info;
}

std::string ToJson(const AuditRecord& audit) {
  // The sequence number comes first: scripts read it there.
  std::string out;
  RecordWriter record(out);
  record.Number("sequence", audit.sequence);
  record.Number("format", kRecordFormat);
  record.Time("time", audit.event.time);
  record.Text("action", audit.event.action);
  record.Text("target", audit.event.target);
  record.WriteOrigin(audit.event.origin);
  record.Text("message", audit.event.message);
  record.Text("node", audit.event.node);
  record.Text("previous_hash", audit.previous_hash);
  record.Text("hash", audit.hash);
  record.End();
  return out;
}

Result<AuditRecord> ParseAuditRecord(std::string_view json) {
  if (!json.starts_with(kAuditBegin)) return NoRecord("not an audit record");
  const RecordReader record(json);
  if (record.error()) return *record.error();
  return AuditRecord{.sequence = record.Number("sequence").value_or(0),
                     .event = {.time = record.Time("time"),
                               .origin = record.ReadOrigin(),
                               .action = record.Text("action"),
                               .target = record.Text("target"),
                               .message = record.Text("message"),
                               .node = record.Text("node")},
                     .previous_hash = record.Text("previous_hash"),
                     .hash = record.Text("hash")};
}

std::string ToJson(const NodeRecord& node) {
  std::string out;
  RecordWriter record(out);
  record.Number("format", kRecordFormat);
  record.Text("id", node.id);
  record.Text("address", node.address);
  record.Text("build", node.build);
  record.Time("started", node.started);
  record.Id("active", node.active.id);
  record.Text("active_hash", node.active.hash);
  record.Time("active_since", node.active_since);
  record.Number("from_copy", node.from_copy ? 1 : 0);
  record.Id("rejected", node.rejected.id);
  record.Text("rejected_hash", node.rejected.hash);
  record.Text("error", node.error);
  record.Text("store", node.store);
  record.Text("breaker", node.breaker);
  record.End();
  return out;
}

Result<NodeRecord> ParseNodeRecord(std::string_view json) {
  const RecordReader record(json);
  if (record.error()) return *record.error();
  return NodeRecord{.id = record.Text("id"),
                    .address = record.Text("address"),
                    .build = record.Text("build"),
                    .started = record.Time("started"),
                    .active = {.id = record.Id("active"), .hash = record.Text("active_hash")},
                    .active_since = record.Time("active_since"),
                    .from_copy = record.Number("from_copy").value_or(0) != 0,
                    .rejected = {.id = record.Id("rejected"), .hash = record.Text("rejected_hash")},
                    .error = record.Text("error"),
                    .store = record.Text("store"),
                    .breaker = record.Text("breaker")};
}

std::string ToJson(const Record& record) {
  std::string out;
  RecordWriter writer(out);
  writer.Number("format", kRecordFormat);
  writer.Text("kind", NameOf(record.kind));
  writer.Text("id", record.id);
  writer.Number("sequence", record.sequence);
  writer.Time("time", record.time);
  if (record.expires_at) writer.Time("expires_at", *record.expires_at);
  if (record.removed) writer.Number("removed", 1);
  writer.Text("text", record.text);
  writer.End();
  return out;
}

Result<std::optional<Record>> ParseRecord(std::string_view json) {
  const RecordReader reader(json);
  if (reader.error()) return *reader.error();
  const auto kind = ParseRecordKind(reader.Text("kind"));
  if (!kind) return std::optional<Record>();
  Record record{.kind = *kind,
                .id = reader.Text("id"),
                .text = reader.Text("text"),
                .sequence = reader.Number("sequence").value_or(0),
                .time = reader.Time("time"),
                .removed = reader.Number("removed").value_or(0) != 0};
  if (reader.Number("expires_at")) record.expires_at = reader.Time("expires_at");
  if (record.id.empty() || record.sequence == 0) return NoRecord("no id or no sequence number");
  return std::optional(std::move(record));
}

std::string ToText(const RecordBatch& batch) {
  std::string payload;
  RecordWriter header(payload);
  header.Number("format", kRecordFormat);
  header.Number("epoch", batch.cursor.epoch);
  header.Number("sequence", batch.cursor.sequence);
  header.Time("time", batch.cursor.time);
  header.Number("first", batch.is_first ? 1 : 0);
  header.Number("records", batch.records.size());
  header.End();
  payload += '\n';
  if (batch.audit.sequence != 0) payload += ToJson(batch.audit);
  payload += '\n';
  for (const Record& record : batch.records) {
    payload += ToJson(record);
    payload += '\n';
  }
  return std::to_string(payload.size()) + ' ' + Fingerprint(payload) + '\n' + payload;
}

Result<RecordBatch> TakeRecordBatch(std::string_view& text) {
  const std::size_t space = text.find(' ');
  const std::size_t line = text.substr(0, kMaxBatchLine).find('\n');
  const auto size = space < line && line != std::string_view::npos
                        ? ParseNumber<std::size_t>(text.substr(0, space))
                        : std::nullopt;
  if (!size || *size > text.size() - line - 1) return NoRecord("a part of a batch of records");
  std::string_view payload = text.substr(line + 1, *size);
  const std::string_view hash = text.substr(space + 1, line - space - 1);
  text.remove_prefix(line + 1 + *size);
  if (Fingerprint(payload) != hash) return NoRecord("batch of records does not match its hash");
  const auto take_line = [&payload] {
    const std::size_t end = std::min(payload.find('\n'), payload.size());
    const std::string_view taken = payload.substr(0, end);
    payload.remove_prefix(std::min(end + 1, payload.size()));
    return taken;
  };
  const RecordReader header(take_line());
  if (header.error()) return *header.error();
  RecordBatch batch{.cursor = {.epoch = header.Number("epoch").value_or(0),
                               .sequence = header.Number("sequence").value_or(0),
                               .time = header.Time("time")},
                    .is_first = header.Number("first").value_or(0) != 0};
  if (const std::string_view audit = take_line(); !audit.empty()) {
    auto record = ParseAuditRecord(audit);
    if (!record) return record.error();
    batch.audit = std::move(*record);
  }
  while (!payload.empty()) {
    auto record = ParseRecord(take_line());
    if (!record) return record.error();
    if (*record) batch.records.push_back(*std::move(*record));
  }
  return batch;
}

std::string ToFile(const Version& version) { return ToJson(version.info) + '\n' + version.text; }

Result<VersionInfo> ParseVersionFileInfo(std::string_view file) {
  const std::size_t line = file.find('\n');
  if (line == std::string_view::npos) return NoRecord("no line of version information");
  return ParseVersionInfo(file.substr(0, line));
}

Result<Version> ParseVersionFile(std::string_view file) {
  auto info = ParseVersionFileInfo(file);
  if (!info) return info.error();
  file.remove_prefix(file.find('\n') + 1);
  if (file.size() != info->bytes || Fingerprint(file) != info->ref.hash) {
    return Error{ErrorCode::kForeignValue,
                 "text of version " + ToText(info->ref.id) + " does not match its hash"};
  }
  return Version{.info = std::move(*info), .text = std::string(file)};
}

std::optional<Error> FindCommitProblem(const Version& version,
                                       const std::optional<VersionRef>& expected) {
  const auto invalid = [&](const std::string& why) {
    return Error{ErrorCode::kInvalidOptions, "version " + ToText(version.info.ref.id) + ": " + why};
  };
  if (version.text.size() > kMaxDocumentBytes) {
    return invalid("text of " + std::to_string(version.text.size()) + " bytes, more than " +
                   std::to_string(kMaxDocumentBytes));
  }
  if (version.info.ref.hash != Fingerprint(version.text)) return invalid("hash of another text");
  if (version.info.bytes != version.text.size()) return invalid("size of another text");
  if (ToJson(version.info).size() > kMaxInfoBytes) return invalid("message or author too long");
  if (version.info.ref.id.epoch == 0 || version.info.ref.id.number == 0)
    return invalid("no number");
  if (expected && version.info.ref.id <= expected->id) {
    return invalid("not later than " + ToText(expected->id));
  }
  return std::nullopt;
}

}  // namespace sluice::control
