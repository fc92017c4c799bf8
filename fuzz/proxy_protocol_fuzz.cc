// The beginning of a connection is read whole and in pieces, which must give the same address, the
// same rest and the same error.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "identity/proxy_protocol.h"

namespace {

using sluice::identity::ProxyProtocolReader;
using Status = ProxyProtocolReader::Status;

struct Read {
  Status status = Status::kMore;
  std::optional<sluice::Address> source{};
  std::string error{};
  std::size_t taken = 0;

  friend bool operator==(const Read&, const Read&) = default;
};

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

// Every piece lies in memory of its own.
Read InPieces(std::string_view bytes, std::size_t piece) {
  ProxyProtocolReader reader;
  Read read;
  while (read.status == Status::kMore && read.taken < bytes.size()) {
    const std::string_view next = bytes.substr(read.taken, piece);
    const std::vector<char> copy(next.begin(), next.end());
    std::string_view rest(copy.data(), copy.size());
    read.status = reader.Read(rest);
    Require(read.status != Status::kMore || rest.empty(), "bytes were left");
    read.taken += copy.size() - rest.size();
  }
  if (read.status == Status::kError) {
    read.error = reader.error();
    read.taken = 0;  // Nobody goes on from there.
  }
  read.source = reader.source();
  return read;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Read whole = InPieces(bytes, std::max<std::size_t>(bytes.size(), 1));
  Require((whole.status == Status::kError) == !whole.error.empty(), "an error without a reason");
  for (const std::size_t piece : {std::size_t{1}, std::size_t{data[0]} + 1}) {
    Require(InPieces(bytes, piece) == whole, "in pieces it means something else");
  }
  return 0;
}
