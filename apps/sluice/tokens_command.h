#pragma once

#include <optional>
#include <string>

#include <sluice/time.h>

#include "remote.h"

/// The commands `sluice tokens …`: tokens of the admin API. Each returns an exit code.
namespace sluice::app {

struct TokensOptions {
  RemoteOptions remote{};
  std::string id{};  ///< Of a token to revoke.
  std::string name{};
  std::string role{};
  std::string scope{};
  std::optional<Micros> lifetime{};  ///< Not set: the server's default.
  bool never_expires = false;
};

int ListTokens(const TokensOptions& options);
/// Prints the new token to standard output, and everything else to standard error.
int CreateToken(const TokensOptions& options);
int RevokeToken(const TokensOptions& options);

}  // namespace sluice::app
