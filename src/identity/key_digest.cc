// The functions with a caller-owned state are deprecated; their replacements allocate at every
// call.
#define OPENSSL_SUPPRESS_DEPRECATED

#include "identity/key_digest.h"

#include <algorithm>

#include "base/ascii.h"

namespace sluice::identity {
namespace {

using Digest = std::array<unsigned char, SHA256_DIGEST_LENGTH>;
using Block = std::array<unsigned char, SHA256_CBLOCK>;

SHA256_CTX Begin() {
  SHA256_CTX state;
  SHA256_Init(&state);
  return state;
}

// Of a copy of the state.
Digest Finish(SHA256_CTX state, const void* bytes, std::size_t size) {
  Digest digest;
  SHA256_Update(&state, bytes, size);
  SHA256_Final(digest.data(), &state);
  return digest;
}

SHA256_CTX After(const Block& secret, unsigned char pad) {
  Block block;
  std::transform(secret.begin(), secret.end(), block.begin(),
                 [pad](unsigned char byte) { return static_cast<unsigned char>(byte ^ pad); });
  SHA256_CTX state = Begin();
  SHA256_Update(&state, block.data(), block.size());
  return state;
}

}  // namespace

KeyDigest::KeyDigest(std::string_view secret) : has_secret_(true) {
  Block block{};
  if (secret.size() > block.size()) {
    const Digest digest = Finish(Begin(), secret.data(), secret.size());
    std::copy(digest.begin(), digest.end(), block.begin());
  } else {
    std::copy(secret.begin(), secret.end(), block.begin());
  }
  inner_ = After(block, 0x36);
  outer_ = After(block, 0x5C);
}

bool KeyDigest::IsDigest(std::string_view text) {
  constexpr std::size_t kDigits = std::size_t{2} * SHA256_DIGEST_LENGTH;
  const auto has = [&](std::string_view label) {
    return text.size() == label.size() + kDigits && text.starts_with(label);
  };
  return has("hmac:") || has("sha256:");
}

std::string_view KeyDigest::operator()(std::string_view key, Buffer& buffer) const {
  const std::string_view label = has_secret_ ? "hmac:" : "sha256:";
  Digest digest = Finish(has_secret_ ? inner_ : Begin(), key.data(), key.size());
  if (has_secret_) digest = Finish(outer_, digest.data(), digest.size());
  char* to = std::copy(label.begin(), label.end(), buffer.begin());
  for (const unsigned char byte : digest) {
    *to++ = kHexDigits[byte >> 4];
    *to++ = kHexDigits[byte & 15];
  }
  return {buffer.data(), static_cast<std::size_t>(to - buffer.data())};
}

}  // namespace sluice::identity
