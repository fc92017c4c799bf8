#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace sluice::app {

/// A file or standard input, read in portions.
class InputFile {
 public:
  /// "-": standard input. If the file can't be opened, `error` says why.
  explicit InputFile(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// Fills the front of `into` and returns how much; 0 at the end and after an error.
  std::size_t Read(std::span<char> into);

  /// Nothing for a pipe.
  [[nodiscard]] std::optional<std::uint64_t> Size() const;

  /// The errno of a failure; 0: there was none.
  [[nodiscard]] int error() const { return error_; }

 private:
  int descriptor_;
  int error_;
};

}  // namespace sluice::app
