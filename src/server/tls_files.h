#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <sluice/result.h>
#include <sluice/time.h>

#include "base/counter.h"
#include "net/tls_context.h"
#include "server/config.h"

namespace sluice::server {

/// The certificate of one protocol's TLS listeners, read from its files now and again. Lives on one
/// thread; only the counters are for others.
class TlsFiles {
 public:
  /// `section` is what its settings are called by: "http_tls".
  TlsFiles(std::string section, net::TlsServerOptions options);

  /// Reads the files. Where something is wrong with them, what was read before stays. The message
  /// names the setting to blame.
  Result<bool> Load(WallTime now);
  /// What was read last; null before.
  [[nodiscard]] const std::shared_ptr<const net::TlsContext>& context() const { return context_; }
  [[nodiscard]] const std::string& section() const { return section_; }

  /// Whether the files have become others since they were last read, and have been so at the last
  /// look too: whoever replaces several of them should be done.
  bool HaveChanged();

  // ---- From any thread.

  [[nodiscard]] std::int64_t expires_seconds() const { return expires_.value(); }
  [[nodiscard]] std::uint64_t good_reloads() const { return good_.value(); }
  [[nodiscard]] std::uint64_t failed_reloads() const { return failed_.value(); }

 private:
  /// Differs if the content may.
  struct Stamp {
    std::uint64_t device = 0, inode = 0;
    std::int64_t size = -1, modified = 0, changed = 0;
    bool operator==(const Stamp&) const = default;
  };
  using Stamps = std::array<Stamp, 3>;

  [[nodiscard]] Stamps Look() const;

  const std::string section_;
  const net::TlsServerOptions options_;
  std::shared_ptr<const net::TlsContext> context_;
  Stamps read_;  // When the files were last read.
  Stamps seen_;  // At the last look.
  Gauge expires_;
  Counter good_;
  Counter failed_;
};

/// What the settings mean. `protocol` is the one that ALPN is to agree on; empty: any.
[[nodiscard]] net::TlsServerOptions TlsOptionsOf(const TlsSettings& settings,
                                                 std::string_view protocol,
                                                 std::string_view plain_answer);

}  // namespace sluice::server
