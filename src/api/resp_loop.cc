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

RespArguments RespLoop::Shown(const RespCommand& command, RespArguments arguments) {
  const identity::Identifier& identifier = host_.identifier();
  if (!command.has_keys || !identifier.hashes_keys()) return arguments;
  shown_.assign(arguments.begin(), arguments.end());
  rooms_.resize(command.most == 0 ? arguments.size() - 1 : 1);
  for (std::size_t i = 0; i < rooms_.size(); ++i) {
    shown_[i + 1] = identifier.ShownKey(arguments[i + 1], rooms_[i]);
  }
  return shown_;
}

}  // namespace sluice::api
