#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "load/replies.h"
#include "load/requests.h"

namespace sluice::bench {

/// What is said on one connection: how requests are written, and how replies are told apart.
class Dialogue {
 public:
  virtual ~Dialogue() = default;

  /// Writes the next request, and returns its key. It may hold it back while the server has no room
  /// for it.
  virtual std::uint64_t Ask(std::string& out) = 0;
  /// Reads what these bytes begin with. What must be answered to it is appended to `out`.
  virtual Reply Hear(std::string_view bytes, std::string& out) = 0;
};

/// Replies come in the order of the requests, and nothing else is said.
class PlainDialogue : public Dialogue {
 public:
  PlainDialogue(std::shared_ptr<Requests> requests, ReadReply read)
      : requests_(std::move(requests)), read_(read) {}

  std::uint64_t Ask(std::string& out) override { return requests_->Append(out); }
  Reply Hear(std::string_view bytes, std::string& /*out*/) override { return read_(bytes); }

 private:
  std::shared_ptr<Requests> requests_;  ///< One order of keys for all connections.
  ReadReply read_;
};

}  // namespace sluice::bench
