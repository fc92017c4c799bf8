#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "api/grpc/loop.h"
#include "api/grpc/methods.h"
#include "api/testing/http_server.h"
#include "wire/proto_reader.h"
#include "wire/proto_writer.h"

namespace sluice::api::testing {

/// A RateLimitDescriptor to be sent.
struct SentDescriptor {
  std::vector<std::pair<std::string, std::string>> entries;
  std::optional<std::uint64_t> hits{};
  bool gives_back = false;
  std::optional<std::pair<std::uint32_t, std::uint32_t>> limit{};  ///< Requests and unit.
};

inline std::string RequestOf(std::string_view domain, const std::vector<SentDescriptor>& sent,
                             std::uint32_t hits_addend = 0) {
  std::string message;
  wire::ProtoWriter writer(message);
  writer.Bytes(1, domain);
  for (const SentDescriptor& one : sent) {
    const auto descriptor = writer.Begin(2);
    for (const auto& [key, value] : one.entries) {
      const auto entry = writer.Begin(1);
      writer.Bytes(1, key).Bytes(2, value);
      writer.End(entry);
    }
    if (one.limit) {
      const auto limit = writer.Begin(2);
      writer.Uint(1, one.limit->first).Uint(2, one.limit->second);
      writer.End(limit);
    }
    if (one.hits) {
      const auto hits = writer.Begin(3);
      writer.Uint(1, *one.hits);
      writer.End(hits);
    }
    writer.Uint(4, one.gives_back ? 1 : 0);
    writer.End(descriptor);
  }
  writer.Uint(3, hits_addend);
  return message;
}

/// A DescriptorStatus that was heard.
struct HeardStatus {
  std::uint64_t code = 0;
  bool has_limit = false;
  std::uint64_t requests_per_unit = 0;
  std::uint64_t unit = 0;
  std::string name{};
  std::uint64_t remaining = 0;
  std::optional<std::uint64_t> reset_seconds{};
};

/// What a call was answered.
struct HeardReply {
  wire::GrpcStatus status = wire::GrpcStatus::kOk;
  std::string error{};
  std::uint64_t code = 0;
  std::vector<HeardStatus> statuses{};
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string metadata{};
};

inline HeardStatus ReadStatus(std::string_view message) {
  HeardStatus status;
  wire::ProtoReader reader(message);
  while (reader.Next()) {
    if (reader.field() == 1) status.code = reader.Varint();
    if (reader.field() == 3) status.remaining = reader.Varint();
    if (reader.field() != 2 && reader.field() != 4) continue;
    const bool is_limit = reader.field() == 2;
    if (is_limit) {
      status.has_limit = true;
    } else {
      status.reset_seconds = 0;
    }
    wire::ProtoReader inner(reader.Bytes());
    while (inner.Next()) {
      if (!is_limit && inner.field() == 1) status.reset_seconds = inner.Varint();
      if (is_limit && inner.field() == 1) status.requests_per_unit = inner.Varint();
      if (is_limit && inner.field() == 2) status.unit = inner.Varint();
      if (is_limit && inner.field() == 3) status.name = inner.Bytes();
    }
    EXPECT_TRUE(inner.ok());
  }
  EXPECT_TRUE(reader.ok());
  return status;
}

inline HeardReply ReadReply(const GrpcCall& call) {
  HeardReply reply{.status = call.status, .error = call.status_message};
  wire::ProtoReader reader(call.reply);
  while (reader.Next()) {
    if (reader.field() == 1) reply.code = reader.Varint();
    if (reader.field() == 2) reply.statuses.push_back(ReadStatus(reader.Bytes()));
    if (reader.field() == 6) reply.metadata += reader.Bytes();
    if (reader.field() != 3) continue;
    wire::ProtoReader header(reader.Bytes());
    auto& [name, value] = reply.headers.emplace_back();
    while (header.Next()) {
      (header.field() == 1 ? name : value) = header.Bytes();
    }
  }
  EXPECT_TRUE(reader.ok());
  return reply;
}

/// Calls ShouldRateLimit as a session does, without one.
class EnvoyCaller {
 public:
  explicit EnvoyCaller(FakeServices& services) : services_(services), loop_(services, {}) {}

  /// What the store has not answered yet is answered later: see Answered.
  void Ask(std::string_view message) {
    call_ = loop_.Take();
    call_->peer = &peer_;
    AskShouldRateLimit(*call_, message);
    const std::size_t checks = call_->status == wire::GrpcStatus::kOk ? call_->size() : 0;
    call_->undecided = checks;
    for (std::size_t i = 0; i < checks; ++i) Submit(call_->part(i));
  }
  HeardReply Call(std::string_view message) {
    Ask(message);
    return Answered();
  }
  HeardReply Answered() {
    HeardReply reply = ReadReply(*call_);
    loop_.GiveBack(std::move(call_));
    return reply;
  }

 private:
  void Submit(GrpcCall::Part& part) {
    part.check.on_done = [](limiter::CheckRequest& /*check*/, void* context) {
      TakeAnswer(*static_cast<GrpcCall::Part*>(context));
    };
    part.check.context = &part;
    const auto asked = services_.limiter().Decide(part.check, services_.now());
    if (asked == store::Completion::kNow) TakeAnswer(part);
  }
  static void TakeAnswer(GrpcCall::Part& part) {
    GrpcCall& call = GrpcCallOf(part);
    call.on_decided(part);
    if (--call.undecided == 0) call.answer(call);
  }

  FakeServices& services_;
  GrpcLoop loop_;
  const Peer peer_{};
  std::unique_ptr<GrpcCall> call_;
};

}  // namespace sluice::api::testing
