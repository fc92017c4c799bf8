#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "load/process.h"

namespace sluice::bench {

/// The server under test: the one that the environment names as SLUICE, else the `sluice` that lies
/// beside this program. Limits are in its memory, and
/// its rules have budgets that no benchmark uses up, and that are refilled so slowly that no key is
/// forgotten:
///
/// - every call meets a limit of its api_key;
/// - with the endpoint /search a second one;
/// - with the endpoint /closed one of a single call a day, so that the next is denied.
///
/// `listen` is the flag of the listener: "--http", "--http-tls", "--resp" or "--grpc". The rules
/// are written to the folder. `more` are further flags.
Process StartSluice(const std::string& listen, std::size_t loops, const testing::Folder& folder,
                    const std::vector<std::string>& more = {});

/// The same with other rules, on these processors, and limits wherever `store` says: "memory", or
/// the URL of a Redis.
Process StartSluiceOn(const std::string& store, const std::string& rules, const std::string& listen,
                      std::size_t loops, const testing::Folder& folder, const Cores& cores,
                      const std::vector<std::string>& more = {});

/// The flag of benchmarks that measure with many live entries.
inline constexpr const char* kEntriesFlag = "--entries";

/// 100 000 live entries for a server under test, none of which matches a call of a benchmark. A
/// server of a version without live entries has none.
class ManyEntries {
 public:
  /// If they are not wanted, it does nothing. The folder must outlive it.
  ManyEntries(bool wanted, const testing::Folder& folder);

  /// Flags that the server needs.
  [[nodiscard]] const std::vector<std::string>& flags() const { return flags_; }
  /// Puts the entries into force. The server must run.
  void Put() const;

 private:
  const testing::Folder& folder_;
  std::uint16_t port_ = 0;  ///< Of the listener for administrators; 0: there are no entries.
  std::vector<std::string> flags_;
};

}  // namespace sluice::bench
