#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::resp {

enum class Type : std::uint8_t {
  kNull,
  kSimpleString,
  kError,
  kInteger,
  kBulk,
  kArray,
  kDouble,
  kBoolean,
  kBigNumber,
  kBulkError,
  kVerbatim,
  kMap,
  kSet,
  kPush,
};

/// One value of a decoded reply. A reply is a list of nodes in preorder: an aggregate, then its
/// elements. Texts are offsets into the bytes of the reply, so that nodes can be copied.
struct Node {
  Type type = Type::kNull;
  std::uint32_t size =
      0;  ///< Bytes of a text; elements of an aggregate (a map's pairs count twice).
  union {
    std::int64_t integer = 0;
    double number;
    std::uint64_t offset;  ///< Start of a text.
    std::uint64_t span;    ///< Number of nodes of an aggregate, itself included.
  };
};

/// A view of a value in a reply: two pointers, to be passed by value. The reply is owned by a
/// Decoder or a Reply.
///
///     for (const Value element : reply) total += element.integer();
class Value {
 public:
  class Iterator;

  Value(const Node* node, const char* bytes) : node_(node), bytes_(bytes) {}

  [[nodiscard]] Type type() const { return node_->type; }
  [[nodiscard]] bool is_null() const { return type() == Type::kNull; }
  [[nodiscard]] bool is_error() const {
    return type() == Type::kError || type() == Type::kBulkError;
  }
  [[nodiscard]] bool is_text() const;
  [[nodiscard]] bool is_aggregate() const;

  /// Text of strings, errors and big numbers; "" for other types.
  [[nodiscard]] std::string_view text() const;
  /// First word of an error, such as "NOSCRIPT"; "" for other types.
  [[nodiscard]] std::string_view error_code() const;
  /// Value of an integer; 0 for other types.
  [[nodiscard]] std::int64_t integer() const {
    return type() == Type::kInteger ? node_->integer : 0;
  }
  /// Returns an integer, or a text that is one, as in RESP2 and scripts.
  [[nodiscard]] std::optional<std::int64_t> ToInteger() const;
  /// Value of a double; 0 for other types.
  [[nodiscard]] double number() const { return type() == Type::kDouble ? node_->number : 0; }
  [[nodiscard]] bool boolean() const { return type() == Type::kBoolean && node_->integer != 0; }

  /// Elements of an aggregate (a map has alternating keys and values); 0 for other types.
  [[nodiscard]] std::size_t size() const { return is_aggregate() ? node_->size : 0; }
  [[nodiscard]] Iterator begin() const;
  [[nodiscard]] Iterator end() const;
  /// Returns the element at `index` < size(). Linear.
  [[nodiscard]] Value at(std::size_t index) const;

  /// Number of nodes of this value, itself included.
  [[nodiscard]] std::size_t span() const { return is_aggregate() ? node_->span : 1; }
  [[nodiscard]] const Node* node() const { return node_; }
  [[nodiscard]] const char* bytes() const { return bytes_; }

 private:
  const Node* node_;
  const char* bytes_;
};

class Value::Iterator {
 public:
  using value_type = Value;
  using difference_type = std::ptrdiff_t;
  using reference = Value;
  using pointer = void;
  using iterator_category = std::input_iterator_tag;

  explicit Iterator(Value value) : value_(value) {}
  Value operator*() const { return value_; }
  Iterator& operator++() {
    value_ = Value(value_.node() + value_.span(), value_.bytes_);
    return *this;
  }
  friend bool operator==(const Iterator& a, const Iterator& b) {
    return a.value_.node() == b.value_.node();
  }

 private:
  Value value_;
};

inline Value::Iterator Value::begin() const { return Iterator(Value(node_ + 1, bytes_)); }
inline Value::Iterator Value::end() const {
  return Iterator(Value(node_ + (is_aggregate() ? node_->span : 1), bytes_));
}

/// An owning copy of a value.
class Reply {
 public:
  Reply() : nodes_(1) {}
  explicit Reply(Value value);

  [[nodiscard]] Value value() const { return {nodes_.data(), bytes_.data()}; }

 private:
  std::vector<Node> nodes_;
  std::string bytes_;
};

/// Returns one line for tests and logs. Long replies are truncated.
std::string Describe(Value value);

}  // namespace sluice::resp
