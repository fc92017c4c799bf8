// Bytes of a client go to a gRPC session, whole or in pieces, while time passes, a store answers
// and the server drains. Whatever comes: it ends, and holds no more than it should.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "api/testing/grpc_server.h"
#include "wire/testing/http2_frames.h"

namespace {

using sluice::api::testing::GrpcServer;

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  GrpcServer server({.max_message_bytes = 256, .max_header_bytes = 512, .max_streams = 8});
  server.store.answers_later = (data[0] & 1) != 0;
  const bool drains = (data[0] & 2) != 0;
  // Few would guess the magic.
  if ((data[0] & 4) == 0) server.session->Receive(sluice::wire::testing::Greeting());
  const std::size_t piece = data[1] == 0 ? size : data[1];
  std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  while (!bytes.empty()) {
    server.session->Receive(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    server.Pass(std::chrono::milliseconds(500));
    server.store.Answer(1, (data[0] & 8) != 0);
    Require(server.session->open_streams() <= 8, "too many streams");
    server.session->output().clear();
    if (server.session->held_back()) server.session->Resume();
    if (drains && bytes.size() < size / 2) server.session->Drain();
  }
  if ((data[0] & 16) != 0) server.session.reset();
  server.store.Answer(1'000);
  return 0;
}
