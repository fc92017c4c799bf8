#include "api/http/call.h"

#include "api/http/loop.h"

namespace sluice::api {

void HttpCall::Clear() {
  CheckCall::Clear();
  answer = nullptr;
  wants_problem = false;
  amount = 0;
  labels.clear();
  is_long = false;
  work = nullptr;
  result.reset();
  kept.reset();
}

void HttpCall::GiveBack() { loop.GiveBack(std::unique_ptr<HttpCall>(this)); }

}  // namespace sluice::api
