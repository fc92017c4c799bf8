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
  add_last = nullptr;
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
  const bool may_add = call.add_last != nullptr;
  for (std::size_t i = 0; i < checks; ++i) {  // The last batch may end the call.
    CheckCall::Part& part = call.part(i);
    if (part.check.own_limits() == 0) AddCounted(services().identifier(), part.check);
    part.check.on_done = DecidedLater;
    part.check.context = &part;
    batch_.parts[batch_.size++] = &part;
    if (batch_.size == batch_.parts.size()) DecideBatch();
  }
  // Requests behind it see what it adds, unless its store answers later.
  if (may_add) DecideBatch();
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
    if (!part.check.pending() && TakeDecision(part)) {
      Finish(call);
      call.GiveBack();
    } else if (call.session == nullptr &&
               (part.check.pending() || call.part(call.size() - 1).check.pending())) {
      Await(call);
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
  if (--call.undecided > 0) return false;
  if (call.add_last == nullptr || !std::exchange(call.add_last, nullptr)(call)) return true;
  CheckCall::Part& last = call.part(call.size() - 1);
  last.check.timeout = part.check.timeout;
  last.check.on_done = DecidedLater;
  last.check.context = &last;
  call.undecided = 1;
  if (call.session != nullptr) call.session->CallsBegan(1);
  limiter::CheckRequest* const check = &last.check;
  ServerServices& services = call.batch->services;
  services.limiter().DecideBatch({&check, 1}, services.now());
  return !check->pending() && TakeDecision(last);
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
