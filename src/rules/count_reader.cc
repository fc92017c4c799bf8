#include "rules/count_reader.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "base/ascii.h"
#include "base/decimal.h"
#include "base/wide_math.h"
#include "config_text/mapping.h"
#include "config_text/suggestion.h"
#include "rules/field_names.h"
#include "rules/pattern_reader.h"

namespace sluice::rules {
namespace {

constexpr std::size_t kMaxQuantityBytes = 64;
constexpr std::int64_t kMaxScale = 1'000'000;
constexpr std::int64_t kMaxWeight = 1'000'000'000;
constexpr std::size_t kMaxTiers = 8;

// Short names of prices, and the quantities that they are for.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kPriceNames = {{
    {"input", "input_tokens"},
    {"cached", "cached_tokens"},
    {"cache_write", "cache_write_tokens"},
    {"output", "output_tokens"},
}};
constexpr std::string_view kAbove = "above";

/// In lowest terms, both at least 1.
struct WeightFraction {
  std::int64_t numerator = 1;
  std::int64_t denominator = 1;
};

std::optional<WeightFraction> ParseFraction(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto decimal = ParseDecimal(TrimBlanks(text.substr(0, slash)));
  if (!decimal || decimal->digits <= 0 || decimal->scale > 9) return std::nullopt;
  std::int64_t denominator = PowerOfTen(decimal->scale);
  if (slash != std::string_view::npos) {
    const auto whole = ParseWhole(TrimBlanks(text.substr(slash + 1)));
    if (!whole || *whole <= 0 || *whole > kMaxScale) return std::nullopt;
    denominator *= *whole;
  }
  const std::int64_t common = std::gcd(decimal->digits, denominator);
  return WeightFraction{decimal->digits / common, denominator / common};
}

bool IsName(config_text::Reading& reading, const config_text::Field& field, std::string_view name) {
  if (!name.empty() && name.size() <= kMaxQuantityBytes) return true;
  reading.AddNameError(
      field, "the name of a quantity has 1 to " + std::to_string(kMaxQuantityBytes) + " bytes");
  return false;
}

// Nano-dollars per unit: a price per million units has at most three decimals.
std::optional<std::int64_t> ReadPrice(config_text::Reading& reading,
                                      const config_text::Field& field) {
  constexpr int kDecimals = 3;
  constexpr std::int64_t kMost = 1'000'000'000;
  const auto decimal = field->kind == config_text::YamlKind::kScalar ? ParseDecimal(field->text)
                                                                     : std::optional<Decimal>();
  if (!decimal || decimal->digits < 0) {
    reading.AddError(field, "expected a price in USD per million, such as 1.25, found " +
                                config_text::Found(*field.node));
    return std::nullopt;
  }
  Decimal price = *decimal;
  while (price.scale > 0 && price.digits % 10 == 0) {
    price.digits /= 10;
    --price.scale;
  }
  if (price.scale > kDecimals) {
    reading.AddError(field,
                     "has more than three decimals, so that a call might cost a fraction of "
                     "a nano-dollar");
    return std::nullopt;
  }
  const Wide nanos = Wide{price.digits} * PowerOfTen(kDecimals - price.scale);
  if (nanos > kMost) {
    reading.AddError(field, "is more than a million USD per million");
    return std::nullopt;
  }
  return static_cast<std::int64_t>(nanos);
}

std::string_view QuantityOf(std::string_view price) {
  for (const auto& [name, quantity] : kPriceNames) {
    if (name == price) return quantity;
  }
  return price;
}

/// Reads the prices of one model.
class PriceReader {
 public:
  PriceReader(config_text::Reading& reading, const config_text::Field& model)
      : reading_(reading), model_(model) {}

  Count Read() {
    Count price{.tiers = {}, .is_price = true};
    config_text::Field above;
    price.tiers.push_back(ReadTier(model_, 0, &above));
    if (above) {
      for (const config_text::Field& entry :
           reading_.Entries(above, "numbers of tokens and the prices above them")) {
        ReadAbove(entry, price);
      }
    }
    return price;
  }

 private:
  // `above`: receives that field; null: there may be none.
  CountTier ReadTier(const config_text::Field& field, std::int64_t limit,
                     config_text::Field* above) {
    CountTier tier{.above = limit, .weights = {}};
    const std::size_t before = reading_.errors();
    for (const config_text::Field& entry :
         reading_.Entries(field, "prices, such as `input: 1.25`")) {
      if (entry.name.starts_with("x-")) continue;
      if (entry.name == kAbove && above != nullptr) {
        *above = entry;
        continue;
      }
      if (!IsName(reading_, entry, entry.name)) continue;
      const std::string_view quantity = QuantityOf(entry.name);
      if (Find(tier, quantity) != nullptr) {
        reading_.AddNameError(entry, "a second price of " + config_text::Shown(quantity));
        continue;
      }
      const auto nanos = ReadPrice(reading_, entry);
      if (nanos) tier.weights.push_back({.quantity = std::string(quantity), .weight = *nanos});
    }
    const Weight* const input = Find(tier, "input_tokens");
    const bool is_complete = input != nullptr && Find(tier, "output_tokens") != nullptr;
    if (!is_complete && reading_.errors() == before) {
      reading_.AddError(field, "needs prices for `input` and `output`; 0 if they are free");
    } else if (input != nullptr && Find(tier, "cached_tokens") == nullptr) {
      // Tokens of the prompt, wherever they are read, cost as much as any of it.
      Weight cached = *input;
      cached.quantity = "cached_tokens";
      cached.is_required = false;
      tier.weights.push_back(std::move(cached));
    }
    return tier;
  }

  void ReadAbove(const config_text::Field& entry, Count& price) {
    const auto tokens = ParseWhole(entry.name);
    if (!tokens || *tokens < 1 || *tokens > kMaxAmount) {
      reading_.AddNameError(entry, "expected a number of tokens, such as 200_000");
      return;
    }
    if (*tokens <= price.tiers.back().above) {
      reading_.AddNameError(entry, "must be more than the number before it");
      return;
    }
    if (price.tiers.size() == kMaxTiers) {
      reading_.AddNameError(entry,
                            "a model has at most " + std::to_string(kMaxTiers) + " price tiers");
      return;
    }
    price.tiers.push_back(ReadTier(entry, *tokens, nullptr));
  }

  static const Weight* Find(const CountTier& tier, std::string_view quantity) {
    const auto found =
        std::find_if(tier.weights.begin(), tier.weights.end(),
                     [&](const Weight& weight) { return weight.quantity == quantity; });
    return found == tier.weights.end() ? nullptr : &*found;
  }

  config_text::Reading& reading_;
  const config_text::Field& model_;
};

void ReportModel(config_text::Reading& reading, const config_text::Field& entry,
                 const std::map<std::string_view, Count>& prices) {
  if (entry->kind != config_text::YamlKind::kScalar) {
    reading.AddError(entry,
                     "expected prices, as in `{input: 1.25, output: 10}`, or the name of another "
                     "model, found " +
                         config_text::Found(*entry.node));
    return;
  }
  std::vector<std::string_view> names;
  for (const auto& [name, price] : prices) names.push_back(name);
  reading.AddError(entry, "`models` has no prices for " + config_text::Shown(entry->text) +
                              config_text::DidYouMean(entry->text, names));
}

}  // namespace

ReadCountResult ReadCount(config_text::Reading& reading, const config_text::Field& field) {
  ReadCountResult result;
  CountTier tier;
  std::vector<std::int64_t> denominators;
  if (field->kind != config_text::YamlKind::kMapping) {
    reading.AddError(field,
                     "expected quantities and their weights, as in `{input_tokens: 1, "
                     "output_tokens: 6}`, found " +
                         config_text::Found(*field.node));
    return result;
  }
  for (const config_text::Field& entry : reading.Entries(field, "quantities and their weights")) {
    if (!IsName(reading, entry, entry.name)) continue;
    const auto weight = entry->kind == config_text::YamlKind::kScalar
                            ? ParseFraction(entry->text)
                            : std::optional<WeightFraction>();
    if (!weight || weight->numerator > kMaxWeight) {
      reading.AddError(entry,
                       "expected a weight above 0 and at most a billion, such as 1, 0.1 or "
                       "1/3, found " +
                           config_text::Found(*entry.node));
      continue;
    }
    const Wide scale =
        Wide{result.scale / std::gcd(result.scale, weight->denominator)} * weight->denominator;
    if (scale > kMaxScale) {
      reading.AddError(entry,
                       "with the other weights, a unit would have more than a million parts; "
                       "use fewer decimals");
      continue;
    }
    result.scale = static_cast<std::int64_t>(scale);
    tier.weights.push_back({.quantity = std::string(entry.name), .weight = weight->numerator});
    denominators.push_back(weight->denominator);
  }
  if (field->children.empty()) reading.AddError(field, "counts nothing");
  if (tier.weights.size() > kMaxQuantities) {
    reading.AddError(field, "has more than " + std::to_string(kMaxQuantities) + " quantities");
  }
  for (std::size_t i = 0; i < tier.weights.size(); ++i) {
    tier.weights[i].weight *= result.scale / denominators[i];
  }
  result.count.tiers.push_back(std::move(tier));
  return result;
}

std::vector<ModelPrice> ReadModels(config_text::Reading& reading, const config_text::Field& field) {
  const auto entries = reading.Entries(field, "models and their prices");
  std::map<std::string_view, Count> prices;  // Of models that are not aliases.
  for (const config_text::Field& entry : entries) {
    if (entry->kind == config_text::YamlKind::kMapping) {
      prices.emplace(entry.name, PriceReader(reading, entry).Read());
    }
  }
  std::vector<ModelPrice> models;
  for (const config_text::Field& entry : entries) {
    const bool is_alias = entry->kind == config_text::YamlKind::kScalar;
    const auto price = prices.find(is_alias ? entry->text : entry.name);
    if (price == prices.end()) {
      ReportModel(reading, entry, prices);
      continue;
    }
    const config_text::YamlNode name{
        .kind = config_text::YamlKind::kScalar, .position = entry.key, .text = entry.name};
    config_text::Field as_field = entry;
    as_field.node = &name;
    if (auto pattern = ReadValue(reading, as_field)) {
      models.push_back({*std::move(pattern), price->second});
    }
  }
  return models;
}

std::vector<std::string> ReadQuantities(config_text::Reading& reading,
                                        const config_text::Field& field) {
  std::vector<std::string> names;
  for (const config_text::Field& item : reading.Items(field)) {
    const auto name = reading.Text(item, "the name of a quantity");
    if (name && IsName(reading, item, *name)) names.emplace_back(*name);
  }
  return names;
}

void CollectQuantities(RuleFile& file) {
  std::vector<std::string>& names = file.quantities;
  names.insert(names.end(), kUsualQuantities.begin(), kUsualQuantities.end());
  const auto add_count = [&](const Count& count) {
    for (const CountTier& tier : count.tiers) {
      for (const Weight& weight : tier.weights) names.push_back(weight.quantity);
    }
  };
  const auto add_limits = [&](const Limits& limits) {
    for (const NamedLimit& limit : limits) {
      if (limit.cost.count) add_count(*limit.cost.count);
    }
  };
  for (const Rule& rule : file.rules) {
    // Overrides count the same as the rule.
    add_limits(rule.variants.usual);
    for (const auto& [tier, limits] : rule.variants.by_tier) add_limits(limits);
    if (!rule.variants.usual.empty() || !rule.variants.by_tier.empty()) continue;
    for (const Override& each : rule.overrides) add_limits(each.variants.usual);
  }
  for (const ModelPrice& model : file.models) add_count(model.price);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

}  // namespace sluice::rules
