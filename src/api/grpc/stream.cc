#include "api/grpc/stream.h"

namespace sluice::api {

void GrpcStream::Clear() {
  constexpr std::size_t kKept = std::size_t{4} << 10;
  Http2Stream::Clear();
  if (body.capacity() > kKept) std::string().swap(body);
  method = nullptr;
  is_post = false;
  is_grpc = false;
  encoding = Encoding::kIdentity;
  accepts_gzip = false;
  bad_timeout = false;
  trace = {};
  if (token.capacity() > kKept) std::string().swap(token);
  token.clear();
  timeout.reset();
  seen_sent = 0;
  refused = false;
  messages = 0;
  held = 0;
  held_body = 0;
  waits_at.reset();
  reader.Clear();
  call = nullptr;
  watched.clear();
}

}  // namespace sluice::api
