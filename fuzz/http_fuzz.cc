// Bytes are read as HTTP requests whole and in pieces, which must give the same requests and the
// same error; what a request says must be within its limits. Queries are decoded on the way.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/url.h"
#include "wire/http_reader.h"
#include "wire/testing/http_events.h"

namespace {

using sluice::wire::HttpReader;

constexpr sluice::wire::HttpLimits kLimits = {
    .max_request_line = 128, .max_header_bytes = 256, .max_headers = 8, .max_body = 64};

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

void CheckRequest(const sluice::wire::HttpRequest& request) {
  Require(request.target.size() <= kLimits.max_request_line, "a target that is too long");
  Require(request.headers.size() <= kLimits.max_headers, "too many headers");
  Require(request.body.size() <= kLimits.max_body, "a body that is too long");
  Require(request.path.starts_with('/') || request.path == "*", "a path that is none");
  for (const auto& header : request.headers) {
    Require(header.value.find_first_of("\r\n") == std::string_view::npos, "a value with lines");
  }
  std::vector<char> room(request.query.size());
  sluice::QueryParameters parameters(request.query, room);
  while (parameters.Next()) {
    Require(parameters.name().size() + parameters.value().size() <= request.query.size(),
            "decoding made it longer");
  }
}

void CheckRequests(std::string_view bytes) {
  HttpReader reader(kLimits);
  for (;;) {
    switch (reader.Read(bytes)) {
      case HttpReader::Status::kRequest:
        CheckRequest(reader.request());
        Require(!reader.in_request(), "a request that goes on after its end");
        break;
      case HttpReader::Status::kContinue:
        Require(reader.in_request(), "a body outside of a request");
        break;
      case HttpReader::Status::kLargeBody:
        Require(reader.in_request(), "a large body outside of a request");
        if (reader.request().path.size() % 2 == 0) reader.AllowLargeBody();
        break;
      case HttpReader::Status::kMore:
        Require(bytes.empty(), "bytes were left");
        return;
      case HttpReader::Status::kError:
        Require(reader.Read(bytes) == HttpReader::Status::kError, "an error that goes away");
        return;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  CheckRequests(bytes);
  const auto events = sluice::wire::ReadWhole(bytes, kLimits);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{data[0]} + 1}) {
    Require(sluice::wire::ReadSplit(bytes, piece, kLimits) == events,
            "in pieces it means something else");
  }
  return 0;
}
