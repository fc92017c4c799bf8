// Bytes are read as gRPC's messages whole and in pieces, which must give the same; and as gzip,
// which must not become longer than is allowed.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "wire/grpc_frame.h"
#include "wire/grpc_timeout.h"
#include "wire/gzip.h"

namespace {

using sluice::wire::GrpcFrameReader;
using sluice::wire::Gzip;

constexpr std::size_t kMost = 64;

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

std::vector<std::string> ReadAll(std::string_view bytes, std::size_t piece) {
  using Status = GrpcFrameReader::Status;
  GrpcFrameReader reader;
  std::vector<std::string> seen;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    std::string_view rest = bytes.substr(0, piece);
    while (!rest.empty()) {
      const Status status = reader.Read(rest, kMost);
      Require(reader.held() <= kMost + GrpcFrameReader::kPrefix, "too much is held");
      if (status == Status::kMessage) {
        seen.push_back(std::to_string(int{reader.compressed()}) + std::string(reader.message()));
      } else if (status != Status::kMore) {
        seen.emplace_back("error");
        return seen;
      }
    }
  }
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto seen = ReadAll(bytes, size);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{data[0]} + 1}) {
    Require(ReadAll(bytes, piece) == seen, "in pieces it means something else");
  }
  Gzip gzip;
  std::string out;
  const Gzip::Status status = gzip.Decompress(bytes, kMost, out);
  Require(status != Gzip::Status::kDone || out.size() <= kMost, "it became too long");
  Require(gzip.Compress(bytes, out), "it can't be compressed");
  std::string back;
  Require(gzip.Decompress(out, bytes.size(), back) == Gzip::Status::kDone && back == bytes,
          "it came back as something else");
  if (const auto timeout = sluice::wire::ParseGrpcTimeout(bytes)) {
    Require(timeout->count() >= 0, "a time before now");
  }
  return 0;
}
