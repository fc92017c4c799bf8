#include "wire/http_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sluice::wire {
namespace {

constexpr int kMostEmptyLines = 2;
constexpr std::size_t kFirstCapacity = 1024;
// Releases the memory of an unusually large request.
constexpr std::size_t kKeptBytes = 16U << 10;

}  // namespace

HttpReader::Status HttpReader::Read(std::string_view& bytes) {
  switch (stage_) {
    case Stage::kDone:
      Begin();
      [[fallthrough]];
    case Stage::kStart:
      if (half_empty_line_ || bytes.empty() || bytes.front() == '\r') return SkipEmptyLines(bytes);
      [[fallthrough]];
    case Stage::kHead:
      return ReadHead(bytes);
    case Stage::kLargeBody:
      return BeginBody(bytes);
    case Stage::kFixed:
      return ReadFixedBody(bytes);
    case Stage::kChunked:
      return ReadChunks(bytes);
    case Stage::kFailed:
      break;
  }
  return Status::kError;
}

void HttpReader::Begin() {
  head_.Begin();
  stage_ = Stage::kStart;
  body_limits_.max_body = limits_.max_body;
  empty_lines_ = 0;
  if (kept_size_ > 0) {
    kept_size_ = 0;
    if (kept_capacity_ > kKeptBytes) {
      kept_.reset();
      kept_capacity_ = 0;
    }
  }
  if (!body_.empty()) {
    body_.clear();
    if (body_.capacity() > kKeptBytes) std::string().swap(body_);
  }
}

// Some clients send a line end too much after a body.
HttpReader::Status HttpReader::SkipEmptyLines(std::string_view& bytes) {
  while (!bytes.empty()) {
    if (half_empty_line_) {
      if (bytes.front() != '\n') {
        return Fail({.status = 400, .reason = "a carriage return without a line feed"});
      }
      half_empty_line_ = false;
      ++empty_lines_;
    } else if (bytes.front() != '\r' || empty_lines_ == kMostEmptyLines) {
      return ReadHead(bytes);
    } else {
      half_empty_line_ = true;
    }
    bytes.remove_prefix(1);
  }
  return Status::kMore;
}

HttpReader::Status HttpReader::ReadHead(std::string_view& bytes) {
  stage_ = Stage::kHead;
  const std::size_t kept = kept_size_;
  std::string_view head = bytes;
  if (kept > 0) {
    // The buffer may get more than the head; the excess is not consumed from the caller below.
    Keep(bytes.substr(0, head_.max_size() - kept));
    head = {kept_.get(), kept_size_};
  }
  switch (head_.Parse(head)) {
    case HttpHead::Step::kError:
      return Fail(head_.error());
    case HttpHead::Step::kMore:
      if (kept == 0) {
        Keep(bytes);
        head_.Move(bytes.data(), kept_.get());
      }
      bytes = {};
      return Status::kMore;
    case HttpHead::Step::kDone:
      break;
  }
  head_at_ = head.data();
  bytes.remove_prefix(head_.size() - kept);
  if (kept > 0) kept_size_ = head_.size();
  return EndHead(bytes);
}

HttpReader::Status HttpReader::EndHead(std::string_view& bytes) {
  const bool may_be_large = limits_.max_large_body > limits_.max_body &&
                            (head_.chunked() || head_.content_length() > limits_.max_body);
  if (!may_be_large) return BeginBody(bytes);
  stage_ = Stage::kLargeBody;
  body_limits_.max_body = limits_.max_body;
  KeepHead();
  return Status::kLargeBody;
}

HttpReader::Status HttpReader::BeginBody(std::string_view& bytes) {
  if (head_.content_length() > body_limits_.max_body) {
    return Fail({.status = 413, .reason = "the body is too long"});
  }
  if (head_.chunked()) {
    stage_ = Stage::kChunked;
    chunks_.Begin();
  } else if (head_.content_length() > 0) {
    stage_ = Stage::kFixed;
    body_left_ = head_.content_length();
  } else {
    return Complete({});
  }
  if (request().expects_continue) {
    KeepHead();
    return Status::kContinue;
  }
  return head_.chunked() ? ReadChunks(bytes) : ReadFixedBody(bytes);
}

HttpReader::Status HttpReader::ReadFixedBody(std::string_view& bytes) {
  const std::string_view part = bytes.substr(0, body_left_);
  bytes.remove_prefix(part.size());
  body_left_ -= part.size();
  if (body_left_ == 0 && body_.empty()) return Complete(part);
  body_.append(part);
  if (body_left_ == 0) return Complete(body_);
  KeepHead();
  return Status::kMore;
}

HttpReader::Status HttpReader::ReadChunks(std::string_view& bytes) {
  switch (chunks_.Read(bytes, body_limits_, body_)) {
    case HttpChunks::Step::kDone:
      return Complete(body_);
    case HttpChunks::Step::kError:
      return Fail(chunks_.error());
    case HttpChunks::Step::kMore:
      break;
  }
  KeepHead();
  return Status::kMore;
}

HttpReader::Status HttpReader::Complete(std::string_view body) {
  head_.set_body(body);
  stage_ = Stage::kDone;
  return Status::kRequest;
}

HttpReader::Status HttpReader::Fail(const HttpError& error) {
  error_ = error;
  stage_ = Stage::kFailed;
  return Status::kError;
}

// The caller's bytes will be gone when the body comes.
void HttpReader::KeepHead() {
  if (kept_size_ > 0) return;
  Keep({head_at_, head_.size()});
  head_.Move(head_at_, kept_.get());
}

void HttpReader::Keep(std::string_view bytes) {
  if (kept_capacity_ - kept_size_ < bytes.size()) {
    const std::size_t capacity =
        std::max({kFirstCapacity, 2 * kept_capacity_, kept_size_ + bytes.size()});
    auto larger = std::make_unique_for_overwrite<char[]>(capacity);
    if (kept_size_ > 0) {
      std::memcpy(larger.get(), kept_.get(), kept_size_);
      head_.Move(kept_.get(), larger.get());
    }
    kept_ = std::move(larger);
    kept_capacity_ = capacity;
  }
  if (!bytes.empty()) std::memcpy(kept_.get() + kept_size_, bytes.data(), bytes.size());
  kept_size_ += bytes.size();
}

}  // namespace sluice::wire
