#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/limit.h>

#include "api/server_services.h"
#include "limiter/check_request.h"
#include "limiter/settlement.h"
#include "wire/reply_queue.h"

namespace sluice::api {

class CallSession;
struct CheckBatch;

/// One request of any protocol while the limiter decides its checks, with all that its reply needs:
/// the decision may come when the request, or even its session, is gone. Pooled.
struct CheckCall {
  /// One check. Most calls have one.
  struct Part {
    explicit Part(CheckCall& its_call) : call(its_call) {}

    CheckCall& call;
    limiter::CheckRequest check;
    std::string text;  ///< Of several: what this one adds to the reply.

    // ---- HTTP.
    std::string key;                      ///< As the response repeats it.
    std::string_view cost_name = "cost";  ///< The client's name for it; of static storage.
    bool gives_receipt = false;
    /// Own limits whose real cost is known only later: those that a settlement is about.
    std::bitset<kMaxLimitsPerCall> measured;
  };

  CheckCall() = default;
  virtual ~CheckCall() = default;
  CheckCall(const CheckCall&) = delete;
  CheckCall& operator=(const CheckCall&) = delete;

  /// Adds an empty check.
  Part& Add();
  /// Removes the check added last.
  void RemoveLast();
  /// Forgets everything but the memory.
  virtual void Clear();
  /// Returns the call to its pool, which may destroy it.
  virtual void GiveBack() = 0;

  [[nodiscard]] std::size_t size() const { return used_; }
  [[nodiscard]] Part& part(std::size_t i) { return *parts_[i]; }
  [[nodiscard]] const Part& part(std::size_t i) const { return *parts_[i]; }
  /// Whether it holds too much memory to be pooled.
  [[nodiscard]] virtual bool is_large() const { return parts_.size() > kMaxPooledParts; }

  /// Of a request about a receipt.
  std::unique_ptr<limiter::ReceiptSettlement> settlement;

  /// Runs for each check as soon as it is decided (nullable). What the decision points to is gone
  /// when the next check of the call is decided.
  void (*on_decided)(Part& part) = nullptr;
  /// Runs once, when all checks are decided, and may add one that depends on them (nullable).
  /// False: it has added none.
  bool (*add_last)(CheckCall& call) = nullptr;

  // ---- For CallSession.
  CheckBatch* batch = nullptr;        ///< Set when the checks are submitted.
  CallSession* session = nullptr;     ///< Null: it does not wait, or its session is gone.
  wire::ReplyPlace* place = nullptr;  ///< Of a call that waits, where replies keep their order.
  std::size_t undecided = 0;          ///< Checks.
  CheckCall* previous = nullptr;      ///< Among those that wait.
  CheckCall* next = nullptr;

 private:
  static constexpr std::size_t kMaxPooledParts = 16;

  std::vector<std::unique_ptr<Part>> parts_;
  std::size_t used_ = 0;
};

/// Objects that are made once and used for many requests. On one thread.
template <typename Pooled>
class CallPool {
 public:
  /// `arguments` are for the constructor, if none is free.
  template <typename... Arguments>
  [[nodiscard]] std::unique_ptr<Pooled> Take(Arguments&... arguments) {
    if (free_.empty()) return std::make_unique<Pooled>(arguments...);
    std::unique_ptr<Pooled> taken = std::move(free_.back());
    free_.pop_back();
    return taken;
  }
  void GiveBack(std::unique_ptr<Pooled> given) {
    if (given->is_large() || free_.size() >= kMaxFree) return;
    given->Clear();
    free_.push_back(std::move(given));
  }

 private:
  static constexpr std::size_t kMaxFree = 1024;

  std::vector<std::unique_ptr<Pooled>> free_;
};

}  // namespace sluice::api
