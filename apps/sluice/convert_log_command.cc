#include "convert_log_command.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

#include "input_file.h"
#include "simulate/access_log.h"

namespace sluice::app {
namespace {

// The rest are only counted.
constexpr std::uint64_t kBadLinesPrinted = 10;
constexpr std::size_t kMaxLineBytes = std::size_t{64} << 10;
constexpr std::size_t kOutputBytes = std::size_t{64} << 10;

class Conversion {
 public:
  explicit Conversion(const std::string& path) : path_(path), file_(path) {}

  int Run() {
    out_ = simulate::LogTraceHeader();
    std::vector<char> buffer(2 * kMaxLineBytes);
    std::size_t size = 0;
    bool is_skipping = false;  // The rest of a line that is too long.
    while (const std::size_t got = file_.Read({buffer.data() + size, buffer.size() - size})) {
      size += got;
      std::string_view input(buffer.data(), size);
      for (std::size_t end = input.find('\n'); end != std::string_view::npos;
           end = input.find('\n')) {
        if (!is_skipping) Convert(input.substr(0, end));
        is_skipping = false;
        input.remove_prefix(end + 1);
      }
      if (input.size() > kMaxLineBytes) {
        if (!is_skipping) Convert(input);
        is_skipping = true;
        input = {};
      }
      std::memmove(buffer.data(), input.data(), input.size());
      size = input.size();
      if (is_writable_) continue;
      break;
    }
    if (size > 0 && !is_skipping) Convert({buffer.data(), size});
    return Conclude();
  }

 private:
  void Convert(std::string_view line) {
    ++lines_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) return;
    const std::string problem =
        line.size() > kMaxLineBytes
            ? "the line is longer than " + std::to_string(kMaxLineBytes) + " bytes"
            : parser_.Read(line, row_);
    if (problem.empty()) {
      ++calls_;
      simulate::AppendLogTraceRow(row_, out_);
      if (out_.size() >= kOutputBytes) Flush();
    } else if (++bad_lines_ <= kBadLinesPrinted) {
      std::fprintf(stderr, "%s:%llu: %s\n", path_.c_str(), static_cast<unsigned long long>(lines_),
                   problem.c_str());
    }
  }

  void Flush() {
    is_writable_ = is_writable_ && std::fwrite(out_.data(), 1, out_.size(), stdout) == out_.size();
    out_.clear();
  }

  int Conclude() {
    if (file_.error() != 0) {
      std::fprintf(stderr, "%s: %s\n", path_.c_str(), std::strerror(file_.error()));
      return 1;
    }
    if (calls_ > 0) Flush();
    if (!is_writable_ || std::fflush(stdout) != 0) {
      std::fprintf(stderr, "sluice: the trace can't be written: %s\n", std::strerror(errno));
      return 1;
    }
    std::fprintf(stderr, "%s: calls: %llu, bad lines left out: %llu\n", path_.c_str(),
                 static_cast<unsigned long long>(calls_),
                 static_cast<unsigned long long>(bad_lines_));
    return calls_ > 0 ? 0 : 1;
  }

  const std::string& path_;
  InputFile file_;
  simulate::AccessLogParser parser_;
  simulate::TraceRow row_;
  std::string out_;
  std::uint64_t lines_ = 0;
  std::uint64_t calls_ = 0;
  std::uint64_t bad_lines_ = 0;
  bool is_writable_ = true;
};

}  // namespace

int ConvertLog(const ConvertLogOptions& options) { return Conversion(options.log).Run(); }

}  // namespace sluice::app
