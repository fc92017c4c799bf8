#pragma once

#include <string_view>

namespace sluice::api {

/// All files of proto/ and what they import: a google.protobuf.FileDescriptorSet, as protoc makes
/// it.
extern const std::string_view kProtoFiles;

}  // namespace sluice::api
