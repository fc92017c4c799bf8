#pragma once

#include <cassert>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace sluice {

/// The reason of a failure. A denial is a result, not an error.
enum class ErrorCode {
  kInvalidLimit,  ///< The numbers of a limit contradict each other or can't be represented exactly.
  kInvalidCost,   ///< A negative cost, or zero where an amount is required.
  kInvalidKey,    ///< A key longer than kMaxKeyBytes.
  kTooManyLimits,     ///< More than kMaxLimitsPerCall limits in one decision.
  kNotSupported,      ///< The limit's algorithm does not have this operation.
  kStoreFull,         ///< No room for a new key: all keys in memory are active.
  kInvalidOptions,    ///< Options that can't work, or memory that can't be reserved.
  kStoreUnavailable,  ///< The store could not be reached; the call did not run.
  kStoreTimeout,      ///< The store did not answer in time; the call may have run.
  kStoreError,        ///< The store rejected the call: out of memory, read-only, no permission.
  kForeignValue,      ///< The key in Redis has a foreign value.
  kInvalidRules,      ///< A rule file with errors, or a version of rules that is not kept.
  /// The key has the maximum number of settled receipts; nothing was changed.
  kTooManySettlements,
  kUnknownQuantity,  ///< The rules don't know a quantity of the call.
  kMissingQuantity,  ///< The call lacks a quantity that a limit counts.
  kNoPrice,          ///< A limit counts money, and the call's model has no price.
};

/// A stable name for logs and messages, such as "invalid_limit".
[[nodiscard]] const char* ErrorName(ErrorCode code) noexcept;

struct Error {
  ErrorCode code;
  std::string message;  ///< The problem and its correction.
  /// The invalid field of a limit's specification, such as "capacity"; `message` begins with it.
  /// Empty for other errors.
  std::string_view field{};
};

/// A value or an error.
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

  /// Precondition: ok().
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

  /// Precondition: !ok().
  [[nodiscard]] const Error& error() const {
    assert(!ok());
    return *std::get_if<1>(&content_);
  }

 private:
  std::variant<T, Error> content_;
};

}  // namespace sluice
