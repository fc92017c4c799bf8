#include "api/grpc/call.h"

#include "api/grpc/loop.h"

namespace sluice::api {

CheckCall::Part& GrpcCall::Add() {
  Part& part = CheckCall::Add();
  part.check.timeout = timeout;
  part.check.trace = trace;
  if (peer != nullptr) AddCertificate(*peer, part.check);
  return part;
}

void GrpcCall::Clear() {
  CheckCall::Clear();
  peer = nullptr;
  answer = nullptr;
  reply.clear();
  status = wire::GrpcStatus::kOk;
  status_message.clear();
  subject.clear();
  if (scratch != nullptr) scratch->Clear();
  stream = nullptr;
}

void GrpcCall::GiveBack() { loop.GiveBack(std::unique_ptr<GrpcCall>(this)); }

void GrpcCall::Refuse(wire::GrpcStatus why, std::string_view message) {
  status = why;
  status_message = message;
}

}  // namespace sluice::api
