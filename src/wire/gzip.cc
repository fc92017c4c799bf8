#include "wire/gzip.h"

#include <algorithm>

#include <zlib.h>

namespace sluice::wire {
namespace {

constexpr int kGzip = 15 + 16;  // The largest window, with gzip's header and no other.
constexpr std::size_t kStep = std::size_t{16} << 10;

void SetInput(z_stream& stream, std::string_view bytes) {
  // Nothing is written to: zlib has no const there.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
}

void SetRoom(z_stream& stream, std::string& out, std::size_t used) {
  stream.next_out = reinterpret_cast<Bytef*>(out.data() + used);
  stream.avail_out = static_cast<uInt>(out.size() - used);
}

}  // namespace

struct Gzip::Streams {
  z_stream in{}, out{};
  bool can_read = false, can_write = false;
};

Gzip::Gzip() = default;

Gzip::~Gzip() {
  if (!streams_) return;
  if (streams_->can_read) inflateEnd(&streams_->in);
  if (streams_->can_write) deflateEnd(&streams_->out);
}

Gzip::Status Gzip::Decompress(std::string_view bytes, std::size_t most, std::string& out) {
  if (!streams_) streams_ = std::make_unique<Streams>();
  z_stream& stream = streams_->in;
  if (!streams_->can_read) {
    streams_->can_read = inflateInit2(&stream, kGzip) == Z_OK;
    if (!streams_->can_read) return Status::kBroken;
  }
  inflateReset(&stream);
  SetInput(stream, bytes);
  most = MaxInflated(bytes.size(), most);
  out.clear();
  for (;;) {
    const std::size_t used = out.size();
    // One byte more than is good, to see whether there would be more.
    out.resize(std::min(most + 1, used + kStep));
    SetRoom(stream, out, used);
    const int result = inflate(&stream, Z_NO_FLUSH);
    out.resize(out.size() - stream.avail_out);
    if (out.size() > most) return Status::kTooLarge;
    if (result == Z_STREAM_END) return stream.avail_in == 0 ? Status::kDone : Status::kBroken;
    // Without an end, there must be both input and progress.
    if (result != Z_OK || (stream.avail_in == 0 && stream.avail_out > 0)) return Status::kBroken;
  }
}

bool Gzip::Compress(std::string_view bytes, std::string& out) {
  if (!streams_) streams_ = std::make_unique<Streams>();
  z_stream& stream = streams_->out;
  if (!streams_->can_write) {
    constexpr int kMemory = 8;
    streams_->can_write =
        deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzip, kMemory, Z_DEFAULT_STRATEGY) == Z_OK;
    if (!streams_->can_write) return false;
  }
  deflateReset(&stream);
  SetInput(stream, bytes);
  out.resize(deflateBound(&stream, static_cast<uLong>(bytes.size())));
  SetRoom(stream, out, 0);
  const bool done = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  out.resize(out.size() - stream.avail_out);
  return done;
}

}  // namespace sluice::wire
