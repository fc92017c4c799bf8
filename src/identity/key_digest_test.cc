#include "identity/key_digest.h"

#include <string>

#include <gtest/gtest.h>

namespace sluice::identity {
namespace {

std::string Of(const KeyDigest& digest, std::string_view key) {
  KeyDigest::Buffer buffer;
  return std::string(digest(key, buffer));
}

TEST(KeyDigest, EqualsTheOutputOfOpenssl) {
  // printf %s demo-key | openssl dgst -sha256 -hmac 'a secret of some bytes'
  EXPECT_EQ(Of(KeyDigest("a secret of some bytes"), "demo-key"),
            "hmac:6a81cb062176690eb499202676dcec06500a48e307cbacdbe968afdb50e3bf1a");
  // The same with a secret of 100 times 's', which is longer than a block.
  EXPECT_EQ(Of(KeyDigest(std::string(100, 's')), "demo-key"),
            "hmac:78a6bbd1cfea0bbf3c7ca1da447105021e980256d7a89c943c08115a58ad0211");
  // printf %s demo-key | openssl dgst -sha256
  EXPECT_EQ(Of(KeyDigest(), "demo-key"),
            "sha256:c48a01f49fd0f2cc404bc3cbbc80e91457a3d41bb429a695243de4c61794155c");
}

TEST(KeyDigest, DiffersByKeyAndSecret) {
  const KeyDigest one("secret 1");
  EXPECT_NE(Of(one, "a"), Of(one, "b"));
  EXPECT_NE(Of(one, "a"), Of(KeyDigest("secret 2"), "a"));
  EXPECT_EQ(Of(one, "a"), Of(KeyDigest("secret 1"), "a"));
}

}  // namespace
}  // namespace sluice::identity
