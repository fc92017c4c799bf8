#pragma once

#include <map>
#include <string>

#include <sluice/time.h>

#include "control/record_sync.h"
#include "identity/access_token.h"
#include "identity/authenticator.h"

namespace sluice::server {

/// Puts the tokens among a node's records into force. One thread.
class TokenRecords {
 public:
  /// `access` must outlive it.
  explicit TokenRecords(identity::AccessSources& access) : access_(access) {}

  /// Takes changes of records of the kind kToken. Records that are damaged are no tokens.
  void Apply(const control::RecordChanges& changes, WallTime now);

 private:
  identity::AccessSources& access_;
  std::map<std::string, identity::AccessToken> tokens_;  ///< By id.
};

}  // namespace sluice::server
