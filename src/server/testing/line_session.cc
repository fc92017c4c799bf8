#include "server/testing/line_session.h"

#include <cstdlib>
#include <utility>

namespace sluice::server::testing {

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

LineSession::LineSession(api::SessionHost& host, const ConnectionFacts& facts, net::Loop& loop,
                         std::size_t loop_number, Held& held)
    : host_(host),
      facts_(facts),
      loop_(loop),
      loop_number_(loop_number),
      held_(held),
      self_(std::make_shared<LineSession*>(this)) {}

void LineSession::Receive(std::string_view bytes) {
  while (!bytes.empty() && !closing_) {
    const std::size_t end = bytes.find('\n');
    line_ += bytes.substr(0, end);
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
    const std::string line = std::exchange(line_, {});
    Answer(line);
  }
  CloseIfDrained();
}

void LineSession::Answer(const std::string& line) {
  if (line == "hold") {
    ++pending_;
    held_.Add([&loop = loop_, weak = std::weak_ptr(self_)] {
      loop.Post([weak] {
        const auto self = weak.lock();
        if (!self) return;
        LineSession& session = **self;
        --session.pending_;
        session.output_ += "held\n";
        session.CloseIfDrained();
        session.host_.OutputReady();
      });
    });
  } else if (line.starts_with("big ")) {
    output_.append(std::strtoul(line.c_str() + 4, nullptr, 10), 'x');
  } else if (line == "which loop?") {
    output_.append(std::to_string(loop_number_)).append("\n");
  } else if (line == "who am I?") {
    output_.append(facts_.subject.name).append("\n");
  } else if (line == "quit") {
    output_ += "bye\n";
    closing_ = true;
  } else {
    output_.append(line).append("\n");
  }
}

void LineSession::Drain() {
  draining_ = true;
  CloseIfDrained();
}

void LineSession::CloseIfDrained() {
  if (draining_ && pending_ == 0 && line_.empty()) closing_ = true;
}

}  // namespace sluice::server::testing
