#include "api/admin/audit_trail.h"

#include <string>
#include <utility>

#include "api/admin/short_key.h"

namespace sluice::api {
namespace {

constexpr std::size_t kLongestTarget = 512;

// "api_key=abcdefgh…, endpoint=/search"
std::string DescribeTarget(limiter::CheckRequest& check) {
  std::string target;
  if (check.own_limits() > 0) {
    target = std::to_string(check.own_limits()) + " keys of limits in requests";
  }
  for (const Attribute& attribute : check.GatherAttributes()) {
    if (attribute.name == "api_key" && check.Find("api_key_hash")) continue;
    if (!target.empty()) target += ", ";
    target.append(attribute.name).append("=");
    target +=
        attribute.name == "api_key" ? ShortKey(attribute.value) : std::string(attribute.value);
    if (target.size() > kLongestTarget) {
      target.resize(kLongestTarget);
      break;
    }
  }
  return target;
}

}  // namespace

control::Origin OriginOf(const AdminServices& admin, const Peer& peer) {
  const bool has_token = admin.has_admin_token();
  return {.author = !peer.tls_subject.empty() ? peer.tls_subject
                    : has_token               ? "admin token"
                                              : "local",
          .authentication = has_token ? "token" : "local",
          .address = peer.address};
}

void AuditOperation(AdminServices& admin, const Peer& peer, limiter::CheckRequest& check) {
  using store::Operation;
  if (check.operation != Operation::kReset && check.operation != Operation::kGrant) return;
  if (admin.rule_tasks() == nullptr) return;
  const bool grants = check.operation == Operation::kGrant;
  std::string target = DescribeTarget(check);
  if (grants) target += (target.empty() ? "" : ", ") + ("amount=" + std::to_string(check.cost));
  admin.Audit(OriginOf(admin, peer), grants ? "limits.grant" : "limits.reset", std::move(target));
}

}  // namespace sluice::api
