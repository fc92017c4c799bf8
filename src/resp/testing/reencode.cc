#include "resp/testing/reencode.h"

#include "resp/encoder.h"

namespace sluice::resp::testing {
namespace {

void AppendHeader(char type, std::size_t size, std::string& out) {
  out += type;
  out += std::to_string(size) + "\r\n";
}

void AppendElements(Value value, std::string& out) {
  for (const Value element : value) AppendValue(element, out);
}

void AppendLongText(char type, const std::string& text, std::string& out) {
  AppendHeader(type, text.size(), out);
  out += text + "\r\n";
}

}  // namespace

void AppendValue(Value value, std::string& out) {
  switch (value.type()) {
    case Type::kNull:
      return AppendNull(out, Protocol::kResp3);
    case Type::kSimpleString:
      return AppendSimpleString(out, value.text());
    case Type::kError:
      return AppendError(out, value.text());
    case Type::kInteger:
      return AppendInteger(out, value.integer());
    case Type::kBulk:
      return AppendBulk(out, value.text());
    case Type::kDouble:
      return AppendDouble(out, value.number(), Protocol::kResp3);
    case Type::kBoolean:
      return AppendBoolean(out, value.boolean(), Protocol::kResp3);
    case Type::kBigNumber:
      out.append("(").append(value.text()).append("\r\n");
      return;
    case Type::kBulkError:
      return AppendLongText('!', std::string(value.text()), out);
    case Type::kVerbatim:
      return AppendLongText('=', "txt:" + std::string(value.text()), out);
    case Type::kMap:
      AppendMapHeader(out, value.size() / 2, Protocol::kResp3);
      return AppendElements(value, out);
    case Type::kArray:
      AppendArrayHeader(out, value.size());
      return AppendElements(value, out);
    case Type::kSet:
      AppendHeader('~', value.size(), out);
      return AppendElements(value, out);
    case Type::kPush:
      AppendHeader('>', value.size(), out);
      return AppendElements(value, out);
  }
}

}  // namespace sluice::resp::testing
