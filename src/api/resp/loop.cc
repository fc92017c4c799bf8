#include "api/resp/loop.h"

namespace sluice::api {

void RespCall::GiveBack() { loop.GiveBack(std::unique_ptr<RespCall>(this)); }

RespArguments RespLoop::Shown(const RespCommand& command, RespArguments arguments) {
  const identity::Identifier& identifier = services_.identifier();
  if (!command.has_keys || !identifier.hashes_keys()) return arguments;
  shown_.assign(arguments.begin(), arguments.end());
  rooms_.resize(command.most == 0 ? arguments.size() - 1 : 1);
  for (std::size_t i = 0; i < rooms_.size(); ++i) {
    shown_[i + 1] = identifier.ShownKey(arguments[i + 1], rooms_[i]);
  }
  return shown_;
}

}  // namespace sluice::api
