#include "api/envoy/request.h"

#include "wire/proto_reader.h"

namespace sluice::api {
namespace {

using wire::ProtoReader;

bool ReadEntry(std::string_view message, envoy::Entry& entry) {
  ProtoReader reader(message);
  while (reader.Next()) {
    if (reader.field() == 1) entry.key = reader.Bytes();
    if (reader.field() == 2) entry.value = reader.Bytes();
  }
  return reader.ok();
}

bool ReadOverride(std::string_view message, EnvoyOverride& limit) {
  ProtoReader reader(message);
  while (reader.Next()) {
    if (reader.field() == 1) limit.requests_per_unit = reader.Uint32();
    if (reader.field() == 2) limit.unit = reader.Uint32();
  }
  return reader.ok();
}

// A google.protobuf.UInt64Value.
bool ReadHits(std::string_view message, std::uint64_t& hits) {
  ProtoReader reader(message);
  while (reader.Next()) {
    if (reader.field() == 1) hits = reader.Varint();
  }
  return reader.ok();
}

// What is there already. Messages that are sent in parts are merged.
template <typename T>
T& In(std::optional<T>& field) {
  return field ? *field : field.emplace();
}

bool ReadDescriptor(std::string_view message, EnvoyRequest& request) {
  EnvoyDescriptor& descriptor =
      request.descriptors.emplace_back(EnvoyDescriptor{.first_entry = request.entries.size()});
  ProtoReader reader(message);
  while (reader.Next()) {
    bool is_right = true;
    switch (reader.field()) {
      case 1:
        is_right = ReadEntry(reader.Bytes(), request.entries.emplace_back());
        ++descriptor.entries;
        break;
      case 2:
        is_right = ReadOverride(reader.Bytes(), In(descriptor.limit));
        break;
      case 3:
        is_right = ReadHits(reader.Bytes(), In(descriptor.hits));
        break;
      case 4:
        descriptor.gives_back = reader.Bool();
        break;
      default:
        break;
    }
    if (!is_right) reader.Refuse();
    if (request.is_too_long()) return true;
  }
  return reader.ok();
}

}  // namespace

void EnvoyRequest::Clear() {
  domain = {};
  hits_addend = 0;
  descriptors.clear();
  entries.clear();
}

bool ReadEnvoyRequest(std::string_view message, EnvoyRequest& request) {
  request.Clear();
  ProtoReader reader(message);
  while (reader.Next()) {
    switch (reader.field()) {
      case 1:
        request.domain = reader.Bytes();
        break;
      case 2:
        if (!ReadDescriptor(reader.Bytes(), request)) reader.Refuse();
        if (request.is_too_long()) return true;
        break;
      case 3:
        request.hits_addend = reader.Uint32();
        break;
      default:
        break;
    }
  }
  return reader.ok();
}

}  // namespace sluice::api
