#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// A value of a JsonDocument. Cheap to copy. Valid until the document parses another text or the
/// text is destroyed.
class JsonValue {
 public:
  enum class Kind : std::uint8_t { kNull, kFalse, kTrue, kNumber, kString, kArray, kObject };

  class Iterator;

  [[nodiscard]] Kind kind() const { return node_->kind; }
  [[nodiscard]] bool is_null() const { return kind() == Kind::kNull; }
  [[nodiscard]] bool is_array() const { return kind() == Kind::kArray; }
  [[nodiscard]] bool is_object() const { return kind() == Kind::kObject; }

  /// The name of an object's member, unescaped.
  [[nodiscard]] std::string_view name() const { return node_->name; }
  /// The value as written.
  [[nodiscard]] std::string_view raw() const { return node_->raw; }

  /// Each returns nothing if the value is of another kind.
  [[nodiscard]] std::optional<std::string_view> String() const;
  [[nodiscard]] std::optional<bool> Bool() const;
  /// Returns a number as written.
  [[nodiscard]] std::optional<std::string_view> Number() const;
  /// Returns a number without a fraction: 5, 5.0, 5e3.
  [[nodiscard]] std::optional<std::int64_t> Whole() const;

  /// Number of elements of an array or members of an object; 0 for other values.
  [[nodiscard]] std::size_t size() const { return node_->count; }
  [[nodiscard]] Iterator begin() const;
  [[nodiscard]] Iterator end() const;
  /// Returns the first member with this name.
  [[nodiscard]] std::optional<JsonValue> Find(std::string_view name) const;

 private:
  friend class JsonDocument;

  struct Node {
    Kind kind = Kind::kNull;
    std::uint32_t count = 0;
    std::uint32_t nodes = 1;  ///< Number of nodes of the value, itself included; they follow it.
    std::string_view name{};
    std::string_view raw{};
    std::string_view text{};  ///< Of a string, unescaped.
  };
  explicit JsonValue(const Node* node) : node_(node) {}

  const Node* node_;
};

class JsonValue::Iterator {
 public:
  explicit Iterator(const Node* node) : node_(node) {}
  JsonValue operator*() const { return JsonValue(node_); }
  Iterator& operator++() {
    node_ += node_->nodes;
    return *this;
  }
  friend bool operator==(const Iterator&, const Iterator&) = default;

 private:
  const Node* node_;
};

inline JsonValue::Iterator JsonValue::begin() const { return Iterator(node_ + 1); }
inline JsonValue::Iterator JsonValue::end() const { return Iterator(node_ + node_->nodes); }

/// Strict JSON parser (RFC 8259): UTF-8, no comments, nothing after the value, at most kMaxDepth
/// levels. Duplicate names are accepted; callers may reject them. Does not allocate once it has
/// parsed a text of the same size.
///
///     JsonDocument document;
///     const auto value = document.Parse(body);
///     if (!value) Refuse(document.error(), document.error_at());
class JsonDocument {
 public:
  static constexpr int kMaxDepth = 16;

  /// Returns nothing if the text is not JSON. Values point into the text.
  std::optional<JsonValue> Parse(std::string_view text);

  /// Returns the error and the offset of the last Parse that failed.
  [[nodiscard]] std::string_view error() const { return error_; }
  [[nodiscard]] std::size_t error_at() const { return static_cast<std::size_t>(at_ - begin_); }

 private:
  using Node = JsonValue::Node;

  bool Fail(std::string_view error);
  void SkipBlanks();
  bool Take(char c);
  bool TakeValue(std::string_view name, int depth);
  bool TakeItems(std::size_t node, int depth);
  bool TakeString(std::string_view& text);
  bool TakeEscaped(std::string_view& text);
  bool TakeEscape();
  bool TakeCodeUnit(std::uint32_t& unit);
  bool TakeNumber();
  bool TakeWord(std::string_view word);

  const char* begin_ = nullptr;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::string_view error_;
  std::vector<Node> nodes_;
  std::string unescaped_;  ///< Buffer of all unescaped strings; not reallocated while parsing.
};

}  // namespace sluice
