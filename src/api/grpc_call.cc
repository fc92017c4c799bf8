#include "api/grpc_call.h"

namespace sluice::api {

GrpcCall::Part& GrpcCall::Add() {
  if (used_ == parts_.size()) parts_.push_back(std::make_unique<Part>(*this));
  Part& part = *parts_[used_++];
  part.question.patience = patience;
  if (peer != nullptr) AddCertificate(*peer, part.question);
  return part;
}

void GrpcCall::Clear() {
  for (std::size_t i = 0; i < used_; ++i) {
    parts_[i]->question.Clear();
    parts_[i]->text.clear();
  }
  used_ = 0;
  peer = nullptr;
  answer = nullptr;
  take_note = nullptr;
  reply.clear();
  status = wire::GrpcStatus::kOk;
  status_message.clear();
  subject.clear();
  holds.reset();
  session = nullptr;
  stream = nullptr;
}

void GrpcCall::Refuse(wire::GrpcStatus why, std::string_view message) {
  status = why;
  status_message = message;
}

}  // namespace sluice::api
