#include "envoy/struct_bytes.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "base/ascii.h"
#include "base/parse_number.h"

namespace sluice::envoy {
namespace {

using config_text::YamlKind;
using config_text::YamlNode;

constexpr std::size_t kMostBytes = std::size_t{16} << 10;

// Of google.protobuf.Value.
enum class ValueField : std::uint8_t { kNull = 1, kNumber, kText, kFlag, kStruct, kList };
constexpr std::uint8_t kVarint = 0;
constexpr std::uint8_t kFixed64 = 1;
constexpr std::uint8_t kBytes = 2;

void AppendVarint(std::uint64_t number, std::string& out) {
  for (; number >= 0x80; number >>= 7) out.push_back(static_cast<char>(number | 0x80));
  out.push_back(static_cast<char>(number));
}

void AppendTag(std::uint8_t field, std::uint8_t type, std::string& out) {
  out.push_back(static_cast<char>(field << 3 | type));
}

void AppendTag(ValueField field, std::uint8_t type, std::string& out) {
  AppendTag(static_cast<std::uint8_t>(field), type, out);
}

void AppendBytes(std::uint8_t field, std::string_view bytes, std::string& out) {
  AppendTag(field, kBytes, out);
  AppendVarint(bytes.size(), out);
  out.append(bytes);
}

void AppendBytes(ValueField field, std::string_view bytes, std::string& out) {
  AppendBytes(static_cast<std::uint8_t>(field), bytes, out);
}

std::optional<bool> FlagOf(std::string_view text) {
  for (const std::string_view word : {"true", "yes", "on", "y"}) {
    if (EqualIgnoringCase(text, word)) return true;
  }
  for (const std::string_view word : {"false", "no", "off", "n"}) {
    if (EqualIgnoringCase(text, word)) return false;
  }
  return std::nullopt;
}

std::optional<double> NumberOf(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const bool begins_well = !text.empty() && text.find_first_not_of("0123456789.-") != 0;
  const auto number = begins_well ? ParseNumber<double>(text) : std::nullopt;
  return number && std::isfinite(*number) ? number : std::nullopt;
}

class StructWriter {
 public:
  /// Nothing if it is too large.
  std::optional<std::string> Write(const YamlNode& mapping) {
    std::string bytes = Struct(mapping);
    if (used_ > kMostBytes) return std::nullopt;
    return bytes;
  }

 private:
  // Aliased values count each time: otherwise a small file could become huge.
  bool HasRoom(std::size_t bytes) {
    used_ += bytes + 4;
    return used_ <= kMostBytes;
  }

  std::string Struct(const YamlNode& mapping) {
    std::string out;
    for (std::size_t i = 0; i + 1 < mapping.children.size(); i += 2) {
      const std::string_view key = mapping.children[i]->text;
      if (!HasRoom(key.size())) break;
      std::string entry;
      AppendBytes(1, key, entry);
      AppendBytes(2, Value(*mapping.children[i + 1]), entry);
      AppendBytes(1, entry, out);
    }
    return out;
  }

  std::string List(const YamlNode& sequence) {
    std::string out;
    for (const YamlNode* item : sequence.children) {
      if (!HasRoom(0)) break;
      AppendBytes(1, Value(*item), out);
    }
    return out;
  }

  std::string Value(const YamlNode& node) {
    std::string out;
    if (!HasRoom(node.text.size())) return out;
    switch (node.kind) {
      case YamlKind::kNull:
        AppendTag(ValueField::kNull, kVarint, out);
        AppendVarint(0, out);
        break;
      case YamlKind::kScalar:
        AppendScalar(node, out);
        break;
      case YamlKind::kSequence:
        AppendBytes(ValueField::kList, List(node), out);
        break;
      case YamlKind::kMapping:
        AppendBytes(ValueField::kStruct, Struct(node), out);
        break;
    }
    return out;
  }

  static void AppendScalar(const YamlNode& node, std::string& out) {
    const auto flag = node.quoted ? std::nullopt : FlagOf(node.text);
    const auto number = node.quoted ? std::nullopt : NumberOf(node.text);
    if (flag) {
      AppendTag(ValueField::kFlag, kVarint, out);
      AppendVarint(*flag ? 1 : 0, out);
    } else if (number) {
      AppendTag(ValueField::kNumber, kFixed64, out);
      auto bits = std::bit_cast<std::uint64_t>(*number);
      for (int i = 0; i < 8; ++i, bits >>= 8) out.push_back(static_cast<char>(bits & 0xFF));
    } else {
      AppendBytes(ValueField::kText, node.text, out);
    }
  }

  std::size_t used_ = 0;
};

}  // namespace

std::optional<std::string> ReadStruct(config_text::Reading& reading,
                                      const config_text::Field& field) {
  if (field->kind == YamlKind::kNull) return std::string();
  // Looks at the names of its fields, too: each once.
  const std::size_t before = reading.errors();
  reading.Entries(field, "a mapping of your own");
  if (reading.errors() != before) return std::nullopt;
  auto bytes = StructWriter().Write(*field.node);
  if (!bytes) {
    reading.AddError(field, "is more than the " + std::to_string(kMostBytes) +
                                " bytes that an answer may bring with it");
  }
  return bytes;
}

}  // namespace sluice::envoy
