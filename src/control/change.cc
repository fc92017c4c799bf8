#include "control/change.h"

#include <array>

namespace sluice::control {

std::string_view NameOf(ChangeOutcome outcome) {
  static constexpr std::array<std::string_view, 16> kNames{"committed",
                                                           "repeated",
                                                           "unchanged",
                                                           "valid",
                                                           "bad_request",
                                                           "too_large",
                                                           "precondition_required",
                                                           "precondition_failed",
                                                           "not_found",
                                                           "invalid",
                                                           "message_required",
                                                           "rejects_all",
                                                           "guard_exceeded",
                                                           "idempotency_conflict",
                                                           "busy",
                                                           "store_failed"};
  return kNames[static_cast<std::size_t>(outcome)];
}

}  // namespace sluice::control
