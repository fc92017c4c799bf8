#include "resp/value.h"

#include "base/parse_number.h"

namespace sluice::resp {
namespace {

constexpr std::size_t kMostDescribed = 512;

void Describe(Value value, std::string& out);

void DescribeElements(Value value, std::string& out) {
  bool first = true;
  for (const Value element : value) {
    if (out.size() > kMostDescribed) return;
    if (!first) out += ", ";
    first = false;
    Describe(element, out);
  }
}

void Describe(Value value, std::string& out) {
  switch (value.type()) {
    case Type::kNull:
      out += "null";
      return;
    case Type::kInteger:
      out += std::to_string(value.integer());
      return;
    case Type::kDouble:
      out += std::to_string(value.number());
      return;
    case Type::kBoolean:
      out += value.boolean() ? "true" : "false";
      return;
    case Type::kError:
    case Type::kBulkError:
      out.append("error(").append(value.text().substr(0, kMostDescribed)).append(")");
      return;
    case Type::kSimpleString:
    case Type::kBulk:
    case Type::kBigNumber:
    case Type::kVerbatim:
      out.append("\"").append(value.text().substr(0, kMostDescribed)).append("\"");
      return;
    case Type::kArray:
    case Type::kSet:
    case Type::kMap:
    case Type::kPush:
      out += value.type() == Type::kPush ? "push[" : value.type() == Type::kMap ? "map[" : "[";
      DescribeElements(value, out);
      out += "]";
      return;
  }
}

}  // namespace

bool Value::is_text() const {
  switch (type()) {
    case Type::kSimpleString:
    case Type::kError:
    case Type::kBulk:
    case Type::kBigNumber:
    case Type::kBulkError:
    case Type::kVerbatim:
      return true;
    default:
      return false;
  }
}

bool Value::is_aggregate() const {
  return type() == Type::kArray || type() == Type::kMap || type() == Type::kSet ||
         type() == Type::kPush;
}

std::string_view Value::text() const {
  if (!is_text()) return {};
  return {bytes_ + node_->offset, node_->size};
}

std::string_view Value::error_code() const {
  if (!is_error()) return {};
  return text().substr(0, text().find(' '));
}

std::optional<std::int64_t> Value::ToInteger() const {
  if (type() == Type::kInteger) return node_->integer;
  return is_error() ? std::nullopt : ParseNumber<std::int64_t>(text());
}

Value Value::at(std::size_t index) const {
  Iterator found = begin();
  for (; index > 0; --index) ++found;
  return *found;
}

Reply::Reply(Value value) : nodes_(value.node(), value.node() + value.span()) {
  for (Node& node : nodes_) {
    const Value original(&node, value.bytes());
    if (!original.is_text()) continue;
    const std::string_view text = original.text();
    node.offset = bytes_.size();
    bytes_ += text;
  }
}

std::string Describe(Value value) {
  std::string out;
  Describe(value, out);
  return out;
}

}  // namespace sluice::resp
