#include <sluice/result.h>

namespace sluice {

const char* ErrorName(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::kInvalidLimit:
      return "invalid_limit";
    case ErrorCode::kInvalidCost:
      return "invalid_cost";
    case ErrorCode::kInvalidKey:
      return "invalid_key";
    case ErrorCode::kTooManyLimits:
      return "too_many_limits";
    case ErrorCode::kNotSupported:
      return "not_supported";
    case ErrorCode::kStoreFull:
      return "store_full";
    case ErrorCode::kInvalidOptions:
      return "invalid_options";
    case ErrorCode::kStoreUnavailable:
      return "store_unavailable";
    case ErrorCode::kStoreTimeout:
      return "store_timeout";
    case ErrorCode::kStoreError:
      return "store_error";
    case ErrorCode::kForeignValue:
      return "foreign_value";
    case ErrorCode::kInvalidRules:
      return "invalid_rules";
    case ErrorCode::kTooManySettlements:
      return "too_many_settlements";
    case ErrorCode::kUnknownQuantity:
      return "unknown_quantity";
    case ErrorCode::kMissingQuantity:
      return "missing_quantity";
    case ErrorCode::kNoPrice:
      return "no_price";
  }
  return "unknown";
}

}  // namespace sluice
