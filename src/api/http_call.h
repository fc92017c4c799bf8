#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/limit.h>

#include "api/host.h"
#include "limiter/question.h"
#include "wire/http_response.h"
#include "wire/reply_queue.h"

namespace sluice::api {

class HttpLoop;
class HttpSession;

/// What one request asks of the limiter, and all that its answer will need: it may come when the
/// request, or even its session, is gone. Made once and used for many requests.
struct HttpCall {
  /// One question. Most requests have one.
  struct Part {
    explicit Part(HttpCall& its_call) : call(its_call) {}

    HttpCall& call;
    limiter::Question question;
    std::string key;                      ///< As the answer repeats it.
    std::string_view cost_name = "cost";  ///< What the client calls it; of static storage.
    bool gives_receipt = false;
    /// Own limits whose real cost is known only later: those that a settlement is about.
    std::bitset<kMaxLimitsPerCall> measured;
    std::string text;  ///< Of several: what this one adds to the answer.
  };

  explicit HttpCall(HttpLoop& its_loop) : loop(its_loop) {}
  HttpCall(const HttpCall&) = delete;
  HttpCall& operator=(const HttpCall&) = delete;

  /// The next question, which asks nothing yet.
  Part& Add();
  /// Forgets everything but the memory.
  void Clear();

  [[nodiscard]] std::size_t size() const { return used_; }
  [[nodiscard]] Part& part(std::size_t i) { return *parts_[i]; }
  [[nodiscard]] const Part& part(std::size_t i) const { return *parts_[i]; }
  /// Too large to be kept for others.
  [[nodiscard]] bool is_large() const { return parts_.size() > kMostKept || is_long; }

  HttpLoop& loop;
  wire::HttpAsked asked;
  /// Writes the response, once all questions are answered. If there is one question only, what its
  /// answer points to is still there.
  void (*answer)(HttpCall& call, std::string& out) = nullptr;
  /// Of several: run for each question as soon as it is answered, to write its `text`.
  void (*take_note)(Part& part) = nullptr;

  bool wants_problem = false;       ///< The client prefers application/problem+json.
  std::int64_t amount = 0;          ///< Settlements, grants: how much.
  std::vector<std::string> labels;  ///< Descriptors: how the answer of each begins.
  bool is_long = false;
  bool awaits_metrics = false;  ///< No question, but a page that takes its time.
  MetricsFormat metrics_format = MetricsFormat::kPlain;
  std::string metrics;
  std::shared_ptr<void> kept;  ///< Whatever else a route keeps until the answer.

  // ---- Of the session.
  HttpSession* session = nullptr;  ///< Null: it is gone, and nobody waits for the answer.
  wire::ReplyPlace* place = nullptr;
  std::size_t index = 0;  ///< Among those that the session waits for.
  std::size_t unanswered = 0;

 private:
  static constexpr std::size_t kMostKept = 16;

  std::vector<std::unique_ptr<Part>> parts_;
  std::size_t used_ = 0;
};

}  // namespace sluice::api
