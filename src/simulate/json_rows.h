#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "simulate/trace_row.h"

namespace sluice::simulate {

/// A trace as JSON lines. Attributes stand in an object of their own or beside the time:
///
///     {"time": "2026-11-15T12:00:00Z", "attributes": {"api_key": "sk_1"}, "cost": 3}
///     {"time": 1794744000.25, "api_key": "sk_1", "endpoint": "/v1/orders"}
///
/// Numbers, true and false are attributes, too (1.50 is "1.5"); null is none.
class JsonRows final : public RowFormat {
 public:
  explicit JsonRows(TimeUnit unit);
  ~JsonRows() override;

  TakenRow Take(std::string_view input, bool at_end, TraceRow& row) override;

 private:
  class Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace sluice::simulate
