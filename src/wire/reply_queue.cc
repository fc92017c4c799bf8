#include "wire/reply_queue.h"

#include <utility>

namespace sluice::wire {

ReplyPlaces::~ReplyPlaces() {
  while (spare_ != nullptr) delete std::exchange(spare_, spare_->next);
}

ReplyPlace& ReplyPlaces::Take() {
  if (spare_ == nullptr) return *new ReplyPlace;
  --count_;
  ReplyPlace& place = *std::exchange(spare_, spare_->next);
  place.next = nullptr;
  return place;
}

void ReplyPlaces::GiveBack(ReplyPlace& place) {
  if (count_ == kMaxSpare || place.text.capacity() > kMaxKeptBytes) {
    delete &place;
    return;
  }
  place.text.clear();
  place.finished = false;
  place.counted = 0;
  place.next = std::exchange(spare_, &place);
  ++count_;
}

ReplyQueue::~ReplyQueue() {
  while (!empty()) DropFirst();
}

ReplyPlace& ReplyQueue::Later() {
  ReplyPlace& place = places_.Take();
  if (!empty()) held_ += last_->counted = last_->text.size();
  (empty() ? first_ : last_->next) = &place;
  last_ = &place;
  return place;
}

void ReplyQueue::Finish(ReplyPlace& place) {
  place.finished = true;
  while (!empty() && first_->finished) {
    output_ += first_->text;
    DropFirst();
  }
}

void ReplyQueue::DropFirst() {
  held_ -= first_->counted;
  places_.GiveBack(*std::exchange(first_, first_->next));
}

}  // namespace sluice::wire
