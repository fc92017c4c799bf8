#include "wire/http_request.h"

namespace sluice::wire {

const HttpHeader* HttpRequest::Find(std::string_view name) const noexcept {
  for (const HttpHeader& header : headers) {
    if (EqualIgnoringCase(header.name, name)) return &header;
  }
  return nullptr;
}

}  // namespace sluice::wire
