// grpc.reflection: describes the services of this server to tools, with the files of proto/.

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/grpc/methods.h"
#include "api/grpc/proto_files.h"
#include "wire/proto_reader.h"
#include "wire/proto_writer.h"

namespace sluice::api {
namespace {

using wire::GrpcStatus;
using wire::ProtoReader;
using wire::ProtoWriter;

struct File {
  std::string_view bytes;  ///< A FileDescriptorProto.
  std::vector<std::string_view> imports;
};

/// The contents of kProtoFiles, by name.
class ProtoIndex {
 public:
  static const ProtoIndex& Get() {
    static const ProtoIndex index;
    return index;
  }

  /// Null: there is none.
  [[nodiscard]] const File* FindFile(std::string_view name) const {
    const auto found = files_.find(name);
    return found != files_.end() ? &found->second : nullptr;
  }
  [[nodiscard]] const File* FindSymbol(std::string_view symbol) const {
    const auto found = symbols_.find(symbol);
    return found != symbols_.end() ? FindFile(found->second) : nullptr;
  }

 private:
  ProtoIndex() {
    ProtoReader set(kProtoFiles);
    while (set.Next()) {
      if (set.field() == 1) AddFile(set.Bytes());
    }
  }

  void AddFile(std::string_view bytes) {
    constexpr std::uint32_t kName = 1, kPackage = 2, kImport = 3, kMessage = 4, kEnum = 5,
                            kService = 6;
    std::string_view name;
    std::string package;
    File file{.bytes = bytes, .imports = {}};
    ProtoReader reader(bytes);
    while (reader.Next()) {
      if (reader.field() == kName) name = reader.Bytes();
      if (reader.field() == kPackage) package = std::string(reader.Bytes()) + ".";
      if (reader.field() == kImport) file.imports.push_back(reader.Bytes());
    }
    files_.emplace(name, std::move(file));
    reader = ProtoReader(bytes);
    while (reader.Next()) {
      constexpr std::uint32_t kNestedMessage = 3, kNestedEnum = 4, kMethod = 2;
      if (reader.field() == kMessage) {
        AddSymbol(name, package, reader.Bytes(), {kNestedMessage, kNestedEnum});
      }
      if (reader.field() == kEnum) AddSymbol(name, package, reader.Bytes(), {});
      if (reader.field() == kService) AddSymbol(name, package, reader.Bytes(), {kMethod});
    }
  }

  // A descriptor, whose name is its first field, and what is named inside it.
  void AddSymbol(std::string_view file, const std::string& within, std::string_view descriptor,
                 const std::vector<std::uint32_t>& named) {
    std::string name = within;
    ProtoReader reader(descriptor);
    while (reader.Next()) {
      if (reader.field() == 1) name += reader.Bytes();
    }
    reader = ProtoReader(descriptor);
    while (reader.Next()) {
      const bool is_named = std::find(named.begin(), named.end(), reader.field()) != named.end();
      if (is_named) AddSymbol(file, name + ".", reader.Bytes(), {});
    }
    symbols_.emplace(std::move(name), file);
  }

  std::map<std::string_view, File, std::less<>> files_;
  std::map<std::string, std::string_view, std::less<>> symbols_;  ///< The name of each one's file.
};

// Of a ServerReflectionRequest.
enum class Asked : std::uint32_t {
  kNothing = 0,
  kFile = 3,
  kSymbol = 4,
  kExtension = 5,
  kExtensionNumbers = 6,
  kServices = 7,
};

void AddWithImports(const File& file, std::vector<const File*>& files) {
  if (std::find(files.begin(), files.end(), &file) != files.end()) return;
  files.push_back(&file);
  for (const std::string_view name : file.imports) {
    const File* const imported = ProtoIndex::Get().FindFile(name);
    if (imported != nullptr) AddWithImports(*imported, files);
  }
}

void WriteError(GrpcStatus code, std::string_view text, ProtoWriter& writer) {
  const auto error = writer.Begin(7);
  writer.Uint(1, static_cast<std::uint64_t>(code)).Bytes(2, text);
  writer.End(error);
}

void WriteFile(const File* file, ProtoWriter& writer) {
  if (file == nullptr) return WriteError(GrpcStatus::kNotFound, "not found", writer);
  std::vector<const File*> files;
  AddWithImports(*file, files);
  const auto response = writer.Begin(4);
  for (const File* const one : files) writer.Bytes(1, one->bytes);
  writer.End(response);
}

void WriteServices(ProtoWriter& writer) {
  const auto response = writer.Begin(6);
  std::string_view last;
  for (const GrpcMethod& method : GrpcMethods()) {
    const std::string_view service = method.path.substr(1, method.path.rfind('/') - 1);
    if (service == last) continue;
    last = service;
    const auto one = writer.Begin(1);
    writer.Bytes(1, service);
    writer.End(one);
  }
  writer.End(response);
}

}  // namespace

void AskReflection(GrpcCall& call, std::string_view message) {
  std::string_view host;
  std::string_view about;
  auto asked = Asked::kNothing;
  ProtoReader reader(message);
  while (reader.Next()) {
    if (reader.field() == 1) host = reader.Bytes();
    if (reader.field() < 3 || reader.field() > 7) continue;
    asked = static_cast<Asked>(reader.field());
    about = reader.Bytes();
  }
  if (!reader.ok()) {
    return call.Refuse(GrpcStatus::kInvalidArgument,
                       "the message is not a ServerReflectionRequest");
  }
  ProtoWriter writer(call.reply);
  writer.Bytes(1, host).Bytes(2, message);
  switch (asked) {
    case Asked::kFile:
      return WriteFile(ProtoIndex::Get().FindFile(about), writer);
    case Asked::kSymbol:
      return WriteFile(ProtoIndex::Get().FindSymbol(about), writer);
    case Asked::kServices:
      return WriteServices(writer);
    case Asked::kExtension:
    case Asked::kExtensionNumbers:
      return WriteError(GrpcStatus::kNotFound, "no message has extensions", writer);
    case Asked::kNothing:
      return WriteError(GrpcStatus::kInvalidArgument, "the request is empty", writer);
  }
}

}  // namespace sluice::api
