#pragma once

#include <cstddef>
#include <string>

namespace sluice::wire {

/// A reply that waits for those before it.
struct ReplyPlace {
  std::string text;
  bool finished = false;
  std::size_t counted = 0;  ///< Bytes of the text included in ReplyQueue::held.
  ReplyPlace* next = nullptr;
};

/// A free list of replies, shared by all queues of one thread. Must outlive them.
class ReplyPlaces {
 public:
  ReplyPlaces() = default;
  ~ReplyPlaces();
  ReplyPlaces(const ReplyPlaces&) = delete;
  ReplyPlaces& operator=(const ReplyPlaces&) = delete;

  [[nodiscard]] ReplyPlace& Take();
  void GiveBack(ReplyPlace& place);

 private:
  static constexpr std::size_t kMaxSpare = 1024;
  static constexpr std::size_t kMaxKeptBytes = 4096;  ///< Maximum capacity of a recycled text.

  ReplyPlace* spare_ = nullptr;
  std::size_t count_ = 0;
};

/// Puts the replies of one connection in the order of their requests.
///
/// A reply that is available immediately is appended to `Now()`. For others, `Later()` reserves a
/// place in the queue; the reply is written to its text, and `Finish` releases it and all replies
/// that waited for it.
class ReplyQueue {
 public:
  /// `output` receives replies in order.
  ReplyQueue(std::string& output, ReplyPlaces& places) : output_(output), places_(places) {}
  ~ReplyQueue();
  ReplyQueue(const ReplyQueue&) = delete;
  ReplyQueue& operator=(const ReplyQueue&) = delete;

  /// Returns the string to append the next available reply to.
  std::string& Now() {
    if (empty()) return output_;
    if (!last_->finished) Later().finished = true;
    return last_->text;
  }

  /// Reserves a place, which stays at its address until it is finished.
  ReplyPlace& Later();

  void Finish(ReplyPlace& place);

  [[nodiscard]] bool empty() const { return first_ == nullptr; }

  /// Bytes of available replies that wait for others.
  [[nodiscard]] std::size_t held() const { return empty() ? 0 : held_ + last_->text.size(); }

 private:
  void DropFirst();

  std::string& output_;
  ReplyPlaces& places_;
  ReplyPlace* first_ = nullptr;
  ReplyPlace* last_ = nullptr;  ///< Undefined if `first_` is null.
  std::size_t held_ = 0;        ///< Of all replies but the last.
};

}  // namespace sluice::wire
