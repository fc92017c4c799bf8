#include "api/admin/key_text.h"

namespace sluice::api {

std::string KeyForPrincipal(const identity::Principal& principal, std::string_view key) {
  const bool is_whole =
      principal.Has(identity::Role::kOperator) || identity::KeyDigest::IsDigest(key);
  return is_whole ? std::string(key) : ShortKey(key);
}

std::string KeyForRecord(const identity::Identifier& identifier, std::string_view key) {
  identity::KeyDigest::Buffer room;
  return std::string(identifier.DigestOf(key, room));
}

}  // namespace sluice::api
