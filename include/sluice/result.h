#pragma once

#include <cassert>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace sluice {

/// Why something could not be done. "Denied" is not among these: it is a result.
enum class ErrorCode {
  kInvalidLimit,      ///< The numbers of a limit contradict each other or can't be held exactly.
  kInvalidCost,       ///< A cost below zero, or below one where something must be taken.
  kInvalidKey,        ///< A key longer than kMaxKeyBytes.
  kTooManyLimits,     ///< More than kMaxLimitsPerCall limits in one decision.
  kNotSupported,      ///< The limit's algorithm has no such operation.
  kStoreFull,         ///< Every key held matters, and there is no room for a new one.
  kInvalidOptions,    ///< Options that can't work, or memory that can't be reserved.
  kStoreUnavailable,  ///< The store could not be asked; the call did not happen.
  kStoreTimeout,      ///< The store did not answer in time; the call may have happened.
  kStoreError,        ///< The store refused: out of memory, read-only, no permission.
  kForeignValue,      ///< Under the key lies something that is not ours.
  kInvalidRules,      ///< A rule file with errors, or a version of rules that is not kept.
  /// The key remembers as many settled receipts as it may; nothing was changed.
  kTooManySettlements,
};

/// A stable name for logs and messages, such as "invalid_limit".
[[nodiscard]] const char* ErrorName(ErrorCode code) noexcept;

struct Error {
  ErrorCode code;
  std::string message;  ///< The problem and its correction.
  /// The field of a limit's specification that is wrong, such as "capacity"; `message` begins with
  /// it. Empty in errors of other kinds.
  std::string_view field{};
};

/// A value or the reason why there is none.
///
///     auto limit = sluice::Limit::Concurrency({.limit = 8});
///     if (!limit) std::puts(limit.error().message.c_str());
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : content_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const noexcept { return content_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  /// Only for a Result that is ok.
  [[nodiscard]] T& value() & {
    assert(ok());
    return *std::get_if<0>(&content_);
  }
  [[nodiscard]] const T& value() const& {
    assert(ok());
    return *std::get_if<0>(&content_);
  }
  [[nodiscard]] T&& value() && {
    assert(ok());
    return std::move(*std::get_if<0>(&content_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  /// Only for a Result that is not ok.
  [[nodiscard]] const Error& error() const {
    assert(!ok());
    return *std::get_if<1>(&content_);
  }

 private:
  std::variant<T, Error> content_;
};

}  // namespace sluice
