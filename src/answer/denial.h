#pragma once

#include <string>
#include <string_view>

#include <sluice/time.h>

#include "answer/http_answer.h"
#include "base/header_sink.h"
#include "limiter/question.h"

namespace sluice {

/// What a denied caller gets where it is answered itself, instead of whoever asked for it: as the
/// rule says, or else JSON.
class Denial {
 public:
  /// Both must outlive it. `wants_problem`: the caller prefers application/problem+json.
  Denial(const limiter::Question& question, const HttpAnswer& answer, bool wants_problem);

  [[nodiscard]] int status() const;
  /// Those of the rule, beside those of AddRateLimitHeaders.
  void AddHeaders(HeaderSink& headers) const;
  [[nodiscard]] std::string_view content_type() const;
  void AppendBody(WallTime now, std::string& out) const;

 private:
  const limiter::Question& question_;
  const HttpAnswer& answer_;
  const bool wants_problem_;
  const rules::Denial* const custom_;  ///< Null: the rule says nothing.
};

}  // namespace sluice
