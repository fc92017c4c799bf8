#include "wire/testing/http_events.h"

#include <algorithm>
#include <memory>

namespace sluice::wire {
namespace {

// False after an error.
bool ReadPiece(HttpReader& reader, std::string_view bytes, std::vector<std::string>& events) {
  for (;;) {
    switch (reader.Read(bytes)) {
      case HttpReader::Status::kMore:
        if (!bytes.empty()) events.emplace_back("bytes were left");
        return true;
      case HttpReader::Status::kRequest:
        events.push_back(Describe(reader.request()));
        break;
      case HttpReader::Status::kContinue:
        events.push_back("continue " + Describe(reader.request()));
        break;
      case HttpReader::Status::kLargeBody:
        events.push_back("large body of " + Describe(reader.request()));
        break;
      case HttpReader::Status::kError:
        events.push_back(std::to_string(reader.error().status) + ' ' +
                         std::string(reader.error().reason));
        return false;
    }
  }
}

}  // namespace

std::string Describe(const HttpRequest& request) {
  std::string line(request.method);
  line.append(" ").append(request.path);
  if (!request.query.empty()) line.append(" ?").append(request.query);
  line.append(" HTTP/1.").append(std::to_string(request.minor_version));
  line.append(" @").append(request.host);
  if (request.path != request.target) line.append(" target=").append(request.target);
  if (!request.keep_alive) line.append(" close");
  if (request.expects_continue) line.append(" expects");
  for (const HttpHeader& header : request.headers) {
    line.append(" [").append(header.name).append("=").append(header.value).append("]");
  }
  for (std::size_t name = 1; name < kHttpNames.size(); ++name) {
    const HttpHeader* const header = request.Find(static_cast<HttpName>(name));
    if (header != nullptr) line.append(" ").append(kHttpNames[name]).append(header->value);
  }
  if (!request.body.empty()) line.append(" body=").append(request.body);
  return line;
}

std::vector<std::string> ReadPieces(const std::vector<std::string_view>& pieces,
                                    const HttpLimits& limits) {
  HttpReader reader(limits);
  std::vector<std::string> events;
  for (const std::string_view piece : pieces) {
    // On the heap and not a byte longer, so that sanitizers see who looks too far or too late.
    const auto copy = std::make_unique_for_overwrite<char[]>(piece.size());
    std::copy(piece.begin(), piece.end(), copy.get());
    if (!ReadPiece(reader, {copy.get(), piece.size()}, events)) break;
  }
  return events;
}

std::vector<std::string> ReadWhole(std::string_view bytes, const HttpLimits& limits) {
  return ReadPieces({bytes}, limits);
}

std::vector<std::string> ReadSplit(std::string_view bytes, std::size_t piece,
                                   const HttpLimits& limits) {
  std::vector<std::string_view> pieces;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    pieces.push_back(bytes.substr(at, piece));
  }
  return ReadPieces(pieces, limits);
}

}  // namespace sluice::wire
