#include "control/audit.h"

#include <utility>

#include "base/fingerprint.h"
#include "base/utf8.h"

namespace sluice::control {
namespace {

// With its size, so that no other fields give the same text.
void AppendField(std::string_view field, std::string& out) {
  out += std::to_string(field.size());
  out += ':';
  out += field;
  out += ';';
}

// As it is read back from JSON.
void MakeUtf8(std::string& text) {
  if (IsUtf8(text)) return;
  std::string replaced;
  AppendAsUtf8(text, replaced);
  text = std::move(replaced);
}

}  // namespace

std::string HashOf(const AuditRecord& record) {
  const AuditEvent& event = record.event;
  std::string text;
  AppendField(record.previous_hash, text);
  AppendField(std::to_string(record.sequence), text);
  AppendField(std::to_string(event.time.time_since_epoch().count()), text);
  for (const std::string* field :
       {&event.origin.author, &event.origin.authentication, &event.origin.address, &event.action,
        &event.target, &event.message, &event.node}) {
    AppendField(*field, text);
  }
  return Fingerprint(text);
}

AuditRecord NextRecord(const AuditRecord& last, AuditEvent event) {
  for (std::string* field :
       {&event.origin.author, &event.origin.authentication, &event.origin.address, &event.action,
        &event.target, &event.message, &event.node}) {
    MakeUtf8(*field);
  }
  AuditRecord record{
      .sequence = last.sequence + 1, .event = std::move(event), .previous_hash = last.hash};
  record.hash = HashOf(record);
  return record;
}

bool Follows(const AuditRecord& record, const AuditRecord& last) {
  return record.sequence == last.sequence + 1 && record.previous_hash == last.hash &&
         record.hash == HashOf(record);
}

}  // namespace sluice::control
