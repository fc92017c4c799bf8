#include "api/http_call.h"

namespace sluice::api {

HttpCall::Part& HttpCall::Add() {
  if (used_ == parts_.size()) parts_.push_back(std::make_unique<Part>(*this));
  return *parts_[used_++];
}

void HttpCall::Clear() {
  for (std::size_t i = 0; i < used_; ++i) {
    Part& part = *parts_[i];
    part.question.Clear();
    part.key.clear();
    part.cost_name = "cost";
    part.gives_receipt = false;
    part.measured.reset();
    part.text.clear();
  }
  used_ = 0;
  answer = nullptr;
  take_note = nullptr;
  wants_problem = false;
  amount = 0;
  labels.clear();
  is_long = false;
  awaits_metrics = false;
  kept.reset();
  session = nullptr;
  place = nullptr;
}

}  // namespace sluice::api
