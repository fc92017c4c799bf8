// Random calls of one caller are compared with a model that adds up fractions of the quantities:
// nothing is admitted beyond a budget, and after settlement each budget has lost exactly what was
// used.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <boost/multiprecision/cpp_int.hpp>
#include <gtest/gtest.h>

#include "algo/testing/choices.h"
#include "api/testing/http_server.h"
#include "base/testing/seed.h"

namespace sluice::api {
namespace {

using algo::testing::RandomChoices;
using Rational = boost::multiprecision::cpp_rational;
using testing::Heard;
using testing::NumberOf;
using testing::TextOf;
using Use = std::map<std::string, std::int64_t>;

constexpr std::string_view kModelRules = R"(
models:
  small: { input: 0.5, cached: 0.05, output: 2 }
  large: { input: 1.25, cached: 0.125, output: 10.001, above: { 300: { input: 2.5, cached: 1, output: 15 } } }
rules:
  - id: llm
    per: []
    algorithm: fixed_window
    limits:
      rpy: { limit: 60, anchor: year }
      otpy: { limit: 4000, anchor: year, type: output_tokens }
      third: { limit: 3000, anchor: year, count: { input_tokens: 1/3, cached_tokens: 0.1, output_tokens: 2 } }
      parallel: { algorithm: concurrency, limit: 4, ttl: 1d }
      money: 0.02 USD per year
)";
const std::string kModelRoutes = "/api/v1/rate-limit/";

Rational Thousandths(std::int64_t number) { return Rational(number, 1000); }

/// What a call costs each limit, in its unit.
std::map<std::string, Rational> CostsOf(const Use& use, const std::string& model) {
  const Rational input = use.at("input_tokens");
  const Rational cached = use.at("cached_tokens");
  const Rational output = use.at("output_tokens");
  const bool is_long = model == "large" && input + cached > 300;
  const Rational money = model == "small" ? input * 500 + cached * 50 + output * 2000
                         : is_long        ? input * 2500 + cached * 1000 + output * 15000
                                   : input * 1250 + cached * 125 + output * Thousandths(10'001'000);
  return {{"rpy", use.at("requests")},
          {"otpy", output},
          {"third", input / 3 + cached / 10 + output * 2},
          {"money", money}};
}

const std::map<std::string, Rational> kBudgets = {
    {"rpy", 60}, {"otpy", 4000}, {"third", 3000}, {"money", 20'000'000}};

/// One call that was let in.
struct Held {
  std::string receipt;
  std::string model;
  Use reserved;
  std::map<std::string, Rational> charged;
  bool is_running = true;  ///< It has its slot.
  bool is_settled = false;
};

class Model {
 public:
  [[nodiscard]] Rational Left(const std::string& limit) const {
    return kBudgets.at(limit) - used_.at(limit);
  }
  [[nodiscard]] int running() const { return running_; }

  [[nodiscard]] bool Admits(const std::map<std::string, Rational>& costs) const {
    for (const auto& [limit, cost] : costs) {
      const bool fits = cost > 0 ? cost <= Left(limit) : Left(limit) > 0;
      if (!fits) return false;
    }
    return running_ < 4;
  }
  void Charge(Held& held, const std::map<std::string, Rational>& costs) {
    for (const auto& [limit, cost] : costs) {
      used_[limit] += cost - held.charged[limit];
      held.charged[limit] = cost;
    }
  }
  void Begin() { ++running_; }
  void End(Held& held) {
    if (held.is_running) --running_;
    held.is_running = false;
  }

 private:
  std::map<std::string, Rational> used_ = {{"rpy", 0}, {"otpy", 0}, {"third", 0}, {"money", 0}};
  int running_ = 0;
};

std::string JsonOf(const Use& use) {
  std::string json = "{";
  for (const auto& [name, amount] : use) {
    json += (json.size() > 1 ? ",\"" : "\"") + name + "\":" + std::to_string(amount);
  }
  return json + "}";
}

class QuantityModelTest : public testing::HttpTest {
 protected:
  Use AnyUse() {
    return {{"requests", 1},
            {"input_tokens", choices_->Between(0, choices_->OneIn(4) ? 600 : 100)},
            {"cached_tokens", choices_->OneIn(2) ? 0 : choices_->Between(0, 300)},
            {"output_tokens", choices_->Between(0, 200)}};
  }

  void Check() {
    Held held{.receipt = {},
              .model = choices_->OneIn(2) ? "small" : "large",
              .reserved = AnyUse(),
              .charged = {}};
    const auto costs = CostsOf(held.reserved, held.model);
    const Heard heard = CheckBody(R"({"attributes":{"api_key":"a","model":")" + held.model +
                                  R"("},"use":)" + JsonOf(held.reserved) + "}");
    const bool fits = model_.Admits(costs);
    ASSERT_EQ(heard.status, fits ? 200 : 429) << heard.body << JsonOf(held.reserved);
    admitted_ += fits ? 1 : 0;
    denied_ += fits ? 0 : 1;
    if (!fits) return;
    model_.Charge(held, costs);
    model_.Begin();
    held.receipt = TextOf(heard.body, "receipt");
    held_.push_back(std::move(held));
  }

  void Settle() {
    if (held_.empty()) return;
    Held& held = held_[choices_->Below(held_.size())];
    const bool is_partial = choices_->OneIn(3);
    const bool is_cancel = !is_partial && choices_->OneIn(4);
    Use use = held.reserved;
    Use sent;
    for (const auto& [name, amount] : AnyUse()) {
      if (name == "requests" || choices_->OneIn(3)) continue;
      sent[name] = use[name] = amount;
    }
    auto costs = CostsOf(use, held.model);
    if (is_cancel) {
      for (auto& [limit, cost] : costs) cost = 0;
    }
    std::string body = R"({"receipt":")" + held.receipt + "\"";
    if (!is_cancel) body += R"(,"use":)" + JsonOf(sent);
    if (is_partial) body += R"(,"partial":true)";
    const Heard heard = Post(kModelRoutes + (is_cancel ? "cancel" : "settle"), body + "}");
    if (held.is_settled) {
      const bool is_same = !is_partial && costs == held.charged;
      ASSERT_EQ(heard.status, is_same ? 200 : 409) << heard.body;
      return;
    }
    ASSERT_EQ(heard.status, 200) << heard.body;
    if (is_partial) {
      bool stops = false;
      for (auto& [limit, cost] : costs) {
        const bool reaches_charge = cost >= held.charged[limit];
        cost = std::max(cost, held.charged[limit]);
        stops |= reaches_charge && model_.Left(limit) + held.charged[limit] - cost <= 0;
      }
      stopped_ += stops ? 1 : 0;
      ASSERT_EQ(heard.body.find(R"("stop":true)") != std::string::npos, stops) << heard.body;
    } else {
      held.is_settled = true;
      model_.End(held);
    }
    model_.Charge(held, costs);
  }

  void Compare() {
    const std::string body = Get(kModelRoutes + "remaining?key=a&model=small").body;
    for (const auto& [limit, budget] : kBudgets) {
      const std::size_t at = body.find(R"("name":")" + limit + "\"");
      ASSERT_NE(at, std::string::npos) << body;
      const Rational left = std::max(model_.Left(limit), Rational(0));
      const std::int64_t whole = boost::multiprecision::cpp_int(numerator(left) / denominator(left))
                                     .convert_to<std::int64_t>();
      ASSERT_EQ(NumberOf(body.substr(at), "remaining"), whole) << limit;
    }
    const std::size_t at = body.find(R"("name":"parallel")");
    ASSERT_EQ(NumberOf(body.substr(at), "remaining"), 4 - model_.running());
  }

  std::optional<RandomChoices> choices_;
  Model model_;
  std::vector<Held> held_;
  int admitted_ = 0;
  int denied_ = 0;
  int stopped_ = 0;
};

TEST_F(QuantityModelTest, BudgetsAreExactToTheNanoDollar) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  Load(kModelRules);
  for (unsigned run = 0; run < 20; ++run) {
    SCOPED_TRACE(::testing::Message() << "run " << run);
    choices_.emplace(seed + run);
    // Each run is another year, in which every budget is fresh.
    model_ = Model();
    held_.clear();
    services_.clock.Advance(std::chrono::hours(24) * 400);
    for (int step = 0; step < 300; ++step) {
      if (choices_->OneIn(2)) {
        ASSERT_NO_FATAL_FAILURE(Check());
      } else {
        ASSERT_NO_FATAL_FAILURE(Settle());
      }
      ASSERT_NO_FATAL_FAILURE(Compare());
    }
  }
  // Else it would prove little.
  EXPECT_GT(admitted_, 300);
  EXPECT_GT(denied_, 300);
  EXPECT_GT(stopped_, 10);
}

}  // namespace
}  // namespace sluice::api
