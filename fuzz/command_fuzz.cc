// Commands are read whole and in pieces, which must give the same commands and the same error; what
// was understood must survive being written as an array and read again.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "resp/encoder.h"
#include "wire/command_reader.h"

namespace {

using sluice::wire::CommandReader;
using Command = std::vector<std::string>;

constexpr sluice::wire::CommandLimits kLimits = {
    .max_arguments = 16, .max_argument = 256, .max_inline = 128, .max_bytes = 1024};

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

// Every piece lies in memory of its own, which is gone afterwards. Commands beyond `at_once` wait
// for the next piece.
std::vector<Command> Read(std::string_view bytes, std::size_t piece, std::size_t at_once,
                          std::string& error) {
  CommandReader reader(kLimits);
  std::vector<Command> commands;
  const auto take = [&] {
    for (std::size_t i = 0; i < at_once; ++i) {
      if (reader.Next() != CommandReader::Status::kCommand) return false;
      commands.emplace_back(reader.arguments().begin(), reader.arguments().end());
    }
    return true;
  };
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const std::string_view part = bytes.substr(at, piece);
    const std::vector<char> copy(part.begin(), part.end());
    reader.Feed({copy.data(), copy.size()});
    take();
    reader.Keep();
  }
  while (take()) reader.Keep();
  error = reader.error();
  return commands;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  constexpr std::size_t kAll = SIZE_MAX;
  std::string error;
  const auto commands = Read(bytes, bytes.size() + 1, kAll, error);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{data[0]} + 1}) {
    for (const std::size_t at_once : {kAll, std::size_t{1}}) {
      std::string split_error;
      Require(Read(bytes, piece, at_once, split_error) == commands,
              "in pieces it means something else");
      Require(split_error == error, "in pieces it fails for another reason");
    }
  }
  for (const Command& command : commands) {
    const std::vector<std::string_view> arguments(command.begin(), command.end());
    std::string encoded;
    sluice::resp::AppendCommand(encoded, arguments);
    if (encoded.size() > kLimits.max_bytes) continue;
    std::string again_error;
    const auto again = Read(encoded, encoded.size(), kAll, again_error);
    Require(again_error.empty() && again.size() == 1 && again[0] == command,
            "what was encoded means something else");
  }
  return 0;
}
