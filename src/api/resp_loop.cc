#include "api/resp_loop.h"

#include <utility>

namespace sluice::api {

std::unique_ptr<RespQuestion> RespLoop::Take() {
  if (spare_.empty()) return std::make_unique<RespQuestion>(*this);
  std::unique_ptr<RespQuestion> question = std::move(spare_.back());
  spare_.pop_back();
  return question;
}

void RespLoop::GiveBack(std::unique_ptr<RespQuestion> question) {
  if (question->is_large || spare_.size() >= kMostSpare) return;
  question->question.Clear();
  spare_.push_back(std::move(question));
}

}  // namespace sluice::api
