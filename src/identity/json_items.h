#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::identity {

struct JsonValue {
  enum class Kind : std::uint8_t { kString, kNumber, kTrue, kFalse, kNull, kObject, kArray };
  Kind kind = Kind::kNull;
  std::string_view text{};  ///< As it stands there; of a string what is between the quotes.
};

/// The members of a JSON object or the elements of an array, one by one. Strict, and bounded in
/// depth: what is read is checked to its end, nested values included. For small texts from
/// strangers.
///
///     JsonItems items(text, JsonItems::Of::kObject);
///     while (items.Next()) Use(items.name(), items.value());
///     if (items.failed()) Refuse();
class JsonItems {
 public:
  enum class Of : std::uint8_t { kObject, kArray };

  JsonItems(std::string_view text, Of of);

  bool Next();
  /// Of a member, escapes resolved.
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const JsonValue& value() const { return value_; }
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  bool Fail();
  bool End();

  std::string_view rest_;
  Of of_;
  bool first_ = true;
  bool ended_ = false;
  bool failed_ = false;
  std::string name_;
  JsonValue value_;
};

/// What the text between the quotes of a JSON string means. Nothing if an escape is wrong.
[[nodiscard]] std::optional<std::string> UnescapeJson(std::string_view text);

}  // namespace sluice::identity
