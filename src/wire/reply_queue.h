#pragma once

#include <cstddef>
#include <string>

namespace sluice::wire {

/// Where one reply waits for those before it.
struct ReplyPlace {
  std::string text;
  bool finished = false;
  std::size_t counted = 0;  ///< Of the text's bytes, in ReplyQueue::held.
  ReplyPlace* next = nullptr;
};

/// Unused places, kept for reuse. For all queues of one thread, which it
/// must outlive.
class ReplyPlaces {
 public:
  ReplyPlaces() = default;
  ~ReplyPlaces();
  ReplyPlaces(const ReplyPlaces&) = delete;
  ReplyPlaces& operator=(const ReplyPlaces&) = delete;

  [[nodiscard]] ReplyPlace& Take();
  void GiveBack(ReplyPlace& place);

 private:
  static constexpr std::size_t kMostSpare = 1024;
  static constexpr std::size_t kMostKeptBytes = 4096;  ///< Of one text.

  ReplyPlace* spare_ = nullptr;
  std::size_t count_ = 0;
};

/// Replies of one connection in the order of their requests, though some are known later than
/// others.
///
/// A reply that is known at once goes to `Now()`. For one that is not, `Later()` keeps its place;
/// it is written into the place's text, and `Finish` lets it go, with all that only waited for it.
class ReplyQueue {
 public:
  /// `output` receives what may go.
  ReplyQueue(std::string& output, ReplyPlaces& places) : output_(output), places_(places) {}
  ~ReplyQueue();
  ReplyQueue(const ReplyQueue&) = delete;
  ReplyQueue& operator=(const ReplyQueue&) = delete;

  /// Where the next reply goes that is known at once.
  std::string& Now() {
    if (empty()) return output_;
    if (!last_->finished) Later().finished = true;
    return last_->text;
  }

  /// Keeps a place, which stays where it is until it is finished.
  ReplyPlace& Later();

  void Finish(ReplyPlace& place);

  [[nodiscard]] bool empty() const { return first_ == nullptr; }

  /// Bytes of replies that are known, but wait for others.
  [[nodiscard]] std::size_t held() const { return empty() ? 0 : held_ + last_->text.size(); }

 private:
  void DropFirst();

  std::string& output_;
  ReplyPlaces& places_;
  ReplyPlace* first_ = nullptr;
  ReplyPlace* last_ = nullptr;  ///< Of no meaning if there is no first.
  std::size_t held_ = 0;        ///< In all places but the last.
};

}  // namespace sluice::wire
