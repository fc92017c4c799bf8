#include "api/call_session.h"

#include <utility>

namespace sluice::api {

CheckCall::Part& CheckCall::Add() {
  if (used_ == parts_.size()) parts_.push_back(std::make_unique<Part>(*this));
  return *parts_[used_++];
}

void CheckCall::RemoveLast() {
  Part& part = *parts_[--used_];
  part.check.Clear();
  part.text.clear();
  part.key.clear();
  part.cost_name = "cost";
  part.gives_receipt = false;
  part.measured.reset();
}

void CheckCall::Clear() {
  while (used_ > 0) RemoveLast();
  settlement.reset();
  on_decided = nullptr;
  session = nullptr;
  place = nullptr;
}

CallSession::CallSession(transport::Transport& transport, CheckBatch& batch, ReplyOrder order)
    : transport::Session(&transport, batch.services.store_queue()),
      transport_(transport),
      batch_(batch),
      order_(order),
      replies_(output_, batch.places) {}

CallSession::~CallSession() {
  while (waiting_ != nullptr) std::exchange(waiting_, waiting_->next)->session = nullptr;
}

void CallSession::Submit(CheckCall& call) {
  const std::size_t checks = call.size();
  if (checks == 0) {
    DecideBatch();
    Finish(call);
    return call.GiveBack();
  }
  call.undecided = checks;
  call.batch = &batch_;
  for (std::size_t i = 0; i < checks; ++i) {  // The last batch may end the call.
    CheckCall::Part& part = call.part(i);
    if (part.check.own_limits() == 0) AddCounted(services().identifier(), part.check);
    part.check.on_done = DecidedLater;
    part.check.context = &part;
    batch_.parts[batch_.size++] = &part;
    if (batch_.size == batch_.parts.size()) DecideBatch();
  }
}

void CallSession::DecideBatch() {
  if (batch_.size == 0) return;
  std::array<limiter::CheckRequest*, limiter::Limiter::kMostAtOnce> checks;
  for (std::size_t i = 0; i < batch_.size; ++i) checks[i] = &batch_.parts[i]->check;
  services().limiter().DecideBatch({checks.data(), batch_.size}, services().now());
  // In the order of the requests: each call gets its place among the replies before the next.
  for (std::size_t i = 0; i < batch_.size; ++i) {
    CheckCall::Part& part = *batch_.parts[i];
    CheckCall& call = part.call;
    if (part.check.pending()) {
      if (call.session == nullptr) Await(call);
    } else if (TakeDecision(part)) {
      Finish(call);
      call.GiveBack();
    }
  }
  batch_.size = 0;
}

bool CallSession::HasRoomForCall(std::size_t max_pending) {
  if (pending_ + batch_.size >= max_pending) DecideBatch();
  return pending_ < max_pending;
}

// True: it was the last check of its call.
bool CallSession::TakeDecision(CheckCall::Part& part) {
  CheckCall& call = part.call;
  call.batch->services.CountAnswer(call.batch->protocol, part.check);
  if (call.on_decided != nullptr) call.on_decided(part);
  return --call.undecided == 0;
}

void CallSession::DecidedLater(limiter::CheckRequest& /*check*/, void* context) {
  auto& part = *static_cast<CheckCall::Part*>(context);
  if (!TakeDecision(part)) return;
  CheckCall& call = part.call;
  CallSession* const session = call.session;
  if (session != nullptr) session->Finish(call);
  call.GiveBack();
  if (session != nullptr) session->GoOn();
}

void CallSession::Await(CheckCall& call) {
  call.session = this;
  if (order_ == ReplyOrder::kRequests) call.place = &replies_.Later();
  call.previous = nullptr;
  call.next = waiting_;
  if (waiting_ != nullptr) waiting_->previous = &call;
  waiting_ = &call;
  ++pending_;
  CallsBegan(call.size());
}

void CallSession::Finish(CheckCall& call) {
  if (call.session == nullptr) return WriteReply(call, replies_.Now());
  (call.previous != nullptr ? call.previous->next : waiting_) = call.next;
  if (call.next != nullptr) call.next->previous = call.previous;
  --pending_;
  CallsEnded(call.size());
  if (call.place == nullptr) return WriteReply(call, output_);
  WriteReply(call, call.place->text);
  replies_.Finish(*call.place);
}

// Nothing here may be touched after the transport is notified: it may end the session.
void CallSession::GoOn() {
  Resume();
  if (!output_.empty() || closing_ || pause_ != transport::PauseReason::kNone)
    transport_.OutputReady();
}

}  // namespace sluice::api
