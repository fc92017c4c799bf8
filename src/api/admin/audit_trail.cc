#include "api/admin/audit_trail.h"

#include <string>
#include <utility>

#include "api/admin/key_text.h"

namespace sluice::api {
namespace {

constexpr std::size_t kLongestTarget = 512;

// "api_key=sha256:…, endpoint=/search"
std::string DescribeTarget(const identity::Identifier& identifier, limiter::CheckRequest& check) {
  std::string target;
  if (check.own_limits() > 0) {
    target = std::to_string(check.own_limits()) + " keys of limits in requests";
  }
  for (const Attribute& attribute : check.GatherAttributes()) {
    if (attribute.name == "api_key" && check.Find("api_key_hash")) continue;
    if (!target.empty()) target += ", ";
    target.append(attribute.name).append("=");
    target += attribute.name == "api_key" ? KeyForRecord(identifier, attribute.value)
                                          : std::string(attribute.value);
    if (target.size() > kLongestTarget) {
      target.resize(kLongestTarget);
      break;
    }
  }
  return target;
}

}  // namespace

// A certificate names an author better than the token that many may share, or than an address.
control::Origin OriginOf(const identity::Principal& principal, const Peer& peer) {
  using enum identity::Authentication;
  const bool is_shared =
      principal.authentication == kBootstrapToken || principal.authentication == kLocal;
  return {.author = is_shared && !peer.tls_subject.empty() ? peer.tls_subject : principal.name,
          .authentication = std::string(LabelOf(principal.authentication)),
          .address = peer.address};
}

void AuditOperation(ServerServices& services, control::Origin origin,
                    limiter::CheckRequest& check) {
  using store::Operation;
  if (check.operation != Operation::kReset && check.operation != Operation::kGrant) return;
  if (services.admin().rule_tasks() == nullptr) return;
  const bool grants = check.operation == Operation::kGrant;
  std::string target = DescribeTarget(services.identifier(), check);
  if (grants) target += (target.empty() ? "" : ", ") + ("amount=" + std::to_string(check.cost));
  services.admin().Audit(std::move(origin), grants ? "limits.grant" : "limits.reset",
                         std::move(target));
}

const identity::Principal& Anonymous() {
  static const identity::Principal anonymous;
  return anonymous;
}

}  // namespace sluice::api
