#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/http/exchange.h"
#include "base/parse_number.h"
#include "base/url.h"

namespace sluice::api {

/// The query of a request for a report. Refuses the request at the first mistake in it.
class InsightQuery {
 public:
  InsightQuery(HttpExchange& exchange, std::initializer_list<std::string_view> known)
      : exchange_(exchange) {
    const std::string_view query = exchange.request.query;
    QueryParameters parameter(query, exchange.loop.Room(query.size()));
    while (parameter.Next() && !refused_) {
      const std::string name(parameter.name());
      if (std::find(known.begin(), known.end(), name) == known.end()) {
        Refuse(name, "unknown parameter");
      } else if (Find(name) != nullptr) {
        Refuse(name, "must occur once");
      } else {
        values_.emplace_back(name, parameter.value());
      }
    }
  }

  void Text(std::string_view name, std::string& value) const {
    if (const std::string* const sent = Find(name)) value = *sent;
  }
  template <typename Enum>
  void Choose(std::string_view name, const auto& labels, Enum& value) {
    const std::string* const sent = Find(name);
    if (sent == nullptr || refused_) return;
    const auto found = std::find(labels.begin(), labels.end(), *sent);
    if (found != labels.end()) {
      value = static_cast<Enum>(found - labels.begin());
      return;
    }
    std::string detail = "must be ";
    for (std::size_t i = 0; i < labels.size(); ++i) {
      detail.append(i == 0 ? "" : i + 1 == labels.size() ? " or " : ", ").append(labels[i]);
    }
    Refuse(name, std::move(detail));
  }
  void Number(std::string_view name, std::size_t least, std::size_t most, std::size_t& value) {
    const std::string* const sent = Find(name);
    if (sent == nullptr || refused_) return;
    const auto number = ParseNumber<std::size_t>(*sent);
    if (number && *number >= least && *number <= most) {
      value = *number;
      return;
    }
    Refuse(name, "must be a number from " + std::to_string(least) + " to " + std::to_string(most));
  }

  /// Reads "scope": of all nodes ("cluster"), or by default of this one ("node").
  [[nodiscard]] bool IsForCluster() {
    enum class Scope : std::uint8_t { kNode, kCluster };
    Scope scope = Scope::kNode;
    Choose("scope", std::array<std::string_view, 2>{"node", "cluster"}, scope);
    return scope == Scope::kCluster;
  }

  /// Whether the request was refused.
  [[nodiscard]] bool refused() const { return refused_; }

 private:
  [[nodiscard]] const std::string* Find(std::string_view name) const {
    for (const auto& [known, value] : values_) {
      if (known == name) return &value;
    }
    return nullptr;
  }
  void Refuse(std::string_view name, std::string detail) {
    refused_ = true;
    exchange_.Refuse({.code = ProblemCode::kInvalidParameter,
                      .field = std::string(name),
                      .detail = std::move(detail)});
  }

  HttpExchange& exchange_;
  std::vector<std::pair<std::string, std::string>> values_;
  bool refused_ = false;
};

}  // namespace sluice::api
