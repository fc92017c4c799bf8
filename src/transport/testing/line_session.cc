#include "transport/testing/line_session.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace sluice::transport::testing {

void Held::Add(std::function<void()> answer) {
  const std::lock_guard lock(mutex_);
  answers_.push_back(std::move(answer));
}

std::size_t Held::size() const {
  const std::lock_guard lock(mutex_);
  return answers_.size();
}

void Held::Release() {
  std::vector<std::function<void()>> answers;
  {
    const std::lock_guard lock(mutex_);
    answers.swap(answers_);
  }
  for (const auto& answer : answers) answer();
}

LineSession::LineSession(transport::Transport& host, const ConnectionFacts& facts, net::Loop& loop,
                         std::size_t loop_number, Held& held)
    : Session(&host, held.queue),
      host_(host),
      facts_(facts),
      loop_(loop),
      loop_number_(loop_number),
      held_(held),
      self_(std::make_shared<LineSession*>(this)) {}

void LineSession::Receive(std::string_view bytes) {
  BeginWork();
  unread_ += bytes;
  std::string_view rest = unread_;
  while (!rest.empty() && !closing_ && MayRun()) {
    const std::size_t end = rest.find('\n');
    line_ += rest.substr(0, end);
    rest.remove_prefix(std::min(end, rest.size() - 1) + 1);
    if (end == std::string_view::npos) break;
    const std::string line = std::exchange(line_, {});
    Answer(line);
    ++held_.answered;
  }
  unread_.erase(0, unread_.size() - rest.size());
  CloseIfDrained();
}

void LineSession::Answer(const std::string& line) {
  if (facts_.is_reserved) {
    served_operator_ = line == "health" || line == "hold";
    closing_ = true;
  }
  if (facts_.is_reserved && !served_operator_) {
    output_ += "no room\n";
  } else if (line == "hold") {
    Hold();
  } else if (line.starts_with("big ")) {
    output_.append(std::strtoul(line.c_str() + 4, nullptr, 10), 'x');
  } else if (line == "which loop?") {
    output_.append(std::to_string(loop_number_)).append("\n");
  } else if (line == "how many?") {
    output_.append(std::to_string(held_.answered)).append("\n");
  } else if (line == "who am I?") {
    output_.append(facts_.subject.name).append("\n");
  } else if (line == "quit") {
    output_ += "bye\n";
    closing_ = true;
  } else {
    output_.append(line).append("\n");
  }
}

void LineSession::Hold() {
  ++pending_;
  CallsBegan(1);
  if (held_.queue != nullptr) held_.queue->Began(this, loop_.Now());
  held_.Add([&loop = loop_, &held = held_, weak = std::weak_ptr(self_)] {
    loop.Post([&loop, &held, weak] {
      if (held.queue != nullptr) held.queue->Ended(nullptr, loop.Now(), true);
      const auto self = weak.lock();
      if (!self) return;
      LineSession& session = **self;
      --session.pending_;
      session.CallsEnded(1);
      session.output_ += "held\n";
      session.CloseIfDrained();
      session.host_.OutputReady();
    });
  });
}

void LineSession::Drain() {
  draining_ = true;
  CloseIfDrained();
}

void LineSession::CloseIfDrained() {
  if (draining_ && pending_ == 0 && line_.empty() && unread_.empty()) closing_ = true;
}

}  // namespace sluice::transport::testing
