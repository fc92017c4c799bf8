#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// A value of a JsonDocument. Cheap to copy; good as long as the document is not parsed again and
/// its text lives.
class JsonValue {
 public:
  enum class Kind : std::uint8_t { kNull, kFalse, kTrue, kNumber, kString, kArray, kObject };

  class Iterator;

  [[nodiscard]] Kind kind() const { return node_->kind; }
  [[nodiscard]] bool is_null() const { return kind() == Kind::kNull; }
  [[nodiscard]] bool is_array() const { return kind() == Kind::kArray; }
  [[nodiscard]] bool is_object() const { return kind() == Kind::kObject; }

  /// The name of a member of an object, escapes resolved.
  [[nodiscard]] std::string_view name() const { return node_->name; }
  /// The value as it is written.
  [[nodiscard]] std::string_view raw() const { return node_->raw; }

  /// Nothing if it is of another kind.
  [[nodiscard]] std::optional<std::string_view> String() const;
  [[nodiscard]] std::optional<bool> Bool() const;
  /// A number as it is written.
  [[nodiscard]] std::optional<std::string_view> Number() const;
  /// A number without a fraction: 5, 5.0, 5e3.
  [[nodiscard]] std::optional<std::int64_t> Whole() const;

  /// The elements of an array, or the members of an object; other values have none.
  [[nodiscard]] std::size_t size() const { return node_->count; }
  [[nodiscard]] Iterator begin() const;
  [[nodiscard]] Iterator end() const;
  /// The first member of that name.
  [[nodiscard]] std::optional<JsonValue> Find(std::string_view name) const;

 private:
  friend class JsonDocument;

  struct Node {
    Kind kind = Kind::kNull;
    std::uint32_t count = 0;
    std::uint32_t nodes = 1;  ///< Itself and all that is in it, which follows it.
    std::string_view name{};
    std::string_view raw{};
    std::string_view text{};  ///< Of a string, escapes resolved.
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

/// Parses JSON as RFC 8259 has it and nothing more: UTF-8, no comments, no byte behind the value,
/// no deeper than kMaxDepth. Names may come twice: that is for the caller to refuse. Allocates
/// nothing once it has parsed texts of the same size.
///
///     JsonDocument document;
///     const auto value = document.Parse(body);
///     if (!value) Refuse(document.error(), document.error_at());
class JsonDocument {
 public:
  static constexpr int kMaxDepth = 16;

  /// Nothing if the text is not JSON. Values point into the text.
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
  std::string unescaped_;  ///< Of all strings with escapes; never moved while parsing.
};

}  // namespace sluice
