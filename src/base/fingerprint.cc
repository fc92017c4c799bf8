#include "base/fingerprint.h"

#include <array>

#include <openssl/sha.h>

#include "base/ascii.h"

namespace sluice {

std::string Fingerprint(std::string_view content) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
  SHA256(reinterpret_cast<const unsigned char*>(content.data()), content.size(), digest.data());
  std::string text;
  text.reserve(2 * digest.size());
  for (const unsigned char byte : digest) {
    AppendHex(static_cast<char>(byte), text);
  }
  return text;
}

std::string Fingerprint(std::span<const FileContent> files) {
  std::string all;
  for (const FileContent& file : files) {
    // With their sizes, so that no other files give the same.
    all += std::to_string(file.path.size()) + ':' + file.path + ' ';
    all += std::to_string(file.content.size()) + ':' + file.content + '\n';
  }
  return Fingerprint(all);
}

std::string Fingerprint(const FileChange& change) {
  return change.error.empty() ? Fingerprint(change.files) : std::string();
}

}  // namespace sluice
