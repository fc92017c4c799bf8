#pragma once

#include <cstddef>
#include <deque>
#include <string>

namespace sluice::wire {

/// Replies of one connection in the order of their requests, though some are known later than
/// others.
///
/// A reply that is known at once goes to `Now()`. For one that is not, `Later()` keeps its place;
/// it is written into the place's text, and `Finish` lets it go, with all that only waited for it.
class ReplyQueue {
 public:
  struct Place {
    std::string text;
    bool finished = false;
  };

  /// `output` receives what may go.
  explicit ReplyQueue(std::string& output) : output_(output) {}

  /// Where the next reply goes that is known at once.
  std::string& Now() {
    if (places_.empty()) return output_;
    if (!places_.back().finished) places_.push_back({.text = {}, .finished = true});
    return places_.back().text;
  }

  /// Keeps a place, which stays where it is until it is finished.
  Place& Later() { return places_.emplace_back(); }

  void Finish(Place& place) {
    place.finished = true;
    while (!places_.empty() && places_.front().finished) {
      output_ += places_.front().text;
      places_.pop_front();
    }
  }

  [[nodiscard]] bool empty() const { return places_.empty(); }

 private:
  std::string& output_;
  std::deque<Place> places_;
};

}  // namespace sluice::wire
