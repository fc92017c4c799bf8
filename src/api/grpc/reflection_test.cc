#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/grpc/loop.h"
#include "api/grpc/methods.h"
#include "api/testing/http_server.h"
#include "wire/proto_reader.h"
#include "wire/proto_writer.h"

namespace sluice::api {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using wire::GrpcStatus;
using wire::ProtoReader;

constexpr std::uint32_t kFileByName = 3;
constexpr std::uint32_t kSymbol = 4;
constexpr std::uint32_t kListServices = 7;

class GrpcReflectionTest : public ::testing::Test {
 protected:
  struct Reflected {
    std::string_view host;
    std::string original;
    std::vector<std::string> files;
    std::vector<std::string> services;
    std::uint64_t error = 0;
  };

  Reflected Ask(std::uint32_t field, std::string_view about) {
    std::string message;
    wire::ProtoWriter(message).Bytes(1, "here").Bytes(field, about);
    call_ = loop_.Take();
    AskReflection(*call_, message);
    EXPECT_EQ(call_->status, GrpcStatus::kOk);
    Reflected reflected;
    ProtoReader reader(call_->reply);
    while (reader.Next()) {
      if (reader.field() == 1) reflected.host = reader.Bytes();
      if (reader.field() == 2) reflected.original = reader.Bytes();
      if (reader.field() == 4) reflected.files = NamesIn(reader.Bytes());
      if (reader.field() == 6) reflected.services = NamesIn(reader.Bytes());
      if (reader.field() == 7) reflected.error = ErrorIn(reader.Bytes());
    }
    EXPECT_TRUE(reader.ok());
    EXPECT_EQ(reflected.original, message);
    EXPECT_EQ(reflected.host, "here");
    return reflected;
  }

  // The first field of each of the messages in field 1: the name of a file or a service.
  static std::vector<std::string> NamesIn(std::string_view message) {
    std::vector<std::string> names;
    ProtoReader reader(message);
    while (reader.Next()) {
      ProtoReader one(reader.Bytes());
      if (one.Next()) names.emplace_back(one.Bytes());
    }
    return names;
  }
  static std::uint64_t ErrorIn(std::string_view message) {
    ProtoReader reader(message);
    return reader.Next() ? reader.Varint() : 0;
  }

  testing::DelayedStore store_;
  testing::FakeServices services_{store_};
  GrpcLoop loop_{services_, {}};
  std::unique_ptr<GrpcCall> call_;
};

TEST_F(GrpcReflectionTest, ListsTheServices) {
  EXPECT_THAT(Ask(kListServices, "*").services,
              ElementsAre("envoy.service.ratelimit.v3.RateLimitService", "grpc.health.v1.Health",
                          "grpc.reflection.v1.ServerReflection",
                          "grpc.reflection.v1alpha.ServerReflection", "sluice.v1.Limiter"));
}

TEST_F(GrpcReflectionTest, EveryMethodIsInAFile) {
  for (const GrpcMethod& method : GrpcMethods()) {
    std::string symbol(method.path.substr(1));
    symbol[symbol.find('/')] = '.';
    EXPECT_EQ(Ask(kSymbol, symbol).error, 0U) << symbol;
  }
}

TEST_F(GrpcReflectionTest, AFileComesWithWhatItImports) {
  const Reflected reflected =
      Ask(kSymbol, "envoy.service.ratelimit.v3.RateLimitResponse.DescriptorStatus");
  ASSERT_FALSE(reflected.files.empty());
  EXPECT_EQ(reflected.files[0], "envoy/service/ratelimit/v3/rls.proto");
  EXPECT_THAT(reflected.files, Contains("envoy/extensions/common/ratelimit/v3/ratelimit.proto"));
  EXPECT_THAT(reflected.files, Contains("envoy/type/v3/ratelimit_unit.proto"));
  EXPECT_THAT(reflected.files, Contains("google/protobuf/duration.proto"));
}

TEST_F(GrpcReflectionTest, FilesAreFoundByName) {
  EXPECT_THAT(Ask(kFileByName, "grpc/health/v1/health.proto").files,
              ElementsAre("grpc/health/v1/health.proto"));
}

TEST_F(GrpcReflectionTest, WhatIsNotThereIsNotFound) {
  constexpr std::uint64_t kNotFound = 5;
  EXPECT_EQ(Ask(kFileByName, "no.proto").error, kNotFound);
  EXPECT_EQ(Ask(kSymbol, "no.Symbol").error, kNotFound);
  EXPECT_EQ(Ask(5, "\x0A\x01x").error, kNotFound);
  EXPECT_EQ(Ask(6, "a.Type").error, kNotFound);
  EXPECT_EQ(Ask(2, "nothing").error, 3U);
}

TEST_F(GrpcReflectionTest, WhatIsMalformedIsRefused) {
  call_ = loop_.Take();
  AskReflection(*call_, "\x3A\x05x");
  EXPECT_EQ(call_->status, GrpcStatus::kInvalidArgument);
}

}  // namespace
}  // namespace sluice::api
