#include "rules/cost_reader.h"

#include <memory>
#include <string>

#include "base/decimal.h"
#include "config_text/mapping.h"
#include "rules/field_names.h"

namespace sluice::rules {

Cost UsualCost(std::string_view type) {
  Cost cost;
  if (type == kMoney) return cost;
  if (type != kRequests) cost.attribute = type;
  cost.count = std::make_shared<const Count>(CountOf(type));
  return cost;
}

Cost ReadCost(config_text::Reading& reading, const config_text::Field& field, LimitLevel& level) {
  Cost cost;
  if (field->kind == config_text::YamlKind::kScalar && ParseDecimal(field->text)) {
    cost.constant = reading.Whole(field, 1, kMaxAmount);
    return cost;
  }
  if (field->kind != config_text::YamlKind::kMapping) {
    reading.AddError(field,
                     "expected a whole number, or `{attribute: tokens, min: 1, max: 4096}`, "
                     "found " +
                         config_text::Found(*field.node));
    return cost;
  }
  const config_text::Mapping mapping(reading, field, CostFields());
  if (const config_text::Field attribute = mapping["attribute"]) {
    cost.attribute = reading.Text(attribute, "the name of an attribute").value_or("");
    cost.count = std::make_shared<const Count>(CountOf(cost.attribute));
  } else {
    reading.AddError(field, "needs an `attribute` to take the cost from");
  }
  if (const config_text::Field least = mapping["min"]) {
    cost.least = reading.Whole(least, 1, kMaxAmount).value_or(1);
  }
  if (const config_text::Field most = mapping["max"]) {
    const auto value = reading.Whole(most, 1, kMaxAmount);
    QuantityValue& given = level[Quantity::kMaxCost];
    if (given) {
      reading.AddNameError(most, "means the same as `max_cost` on line " +
                                     std::to_string(given.field.key.line) +
                                     "; leave one of them out");
    } else if (value) {
      given.whole = *value;
      given.field = most;
      given.level = Level::kRule;
    }
  }
  return cost;
}

}  // namespace sluice::rules
