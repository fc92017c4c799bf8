#include "wire/command_reader.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/allocations.h"
#include "resp/encoder.h"

namespace sluice::wire {
namespace {

using std::string_literals::operator""s;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Command = std::vector<std::string>;
using Status = CommandReader::Status;

struct Outcome {
  std::vector<Command> commands;
  std::string error;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

// Reads in pieces that end at the given places. Every piece lies in memory of its own, which is
// gone afterwards.
Outcome ReadInPieces(std::string_view bytes, const std::vector<std::size_t>& ends,
                     const CommandLimits& limits = {}) {
  CommandReader reader(limits);
  Outcome outcome;
  std::size_t from = 0;
  for (const std::size_t end : ends) {
    const std::vector<char> piece(bytes.begin() + static_cast<std::ptrdiff_t>(from),
                                  bytes.begin() + static_cast<std::ptrdiff_t>(end));
    from = end;
    reader.Feed({piece.data(), piece.size()});
    while (reader.Next() == Status::kCommand) {
      outcome.commands.emplace_back(reader.arguments().begin(), reader.arguments().end());
    }
    reader.Keep();
  }
  outcome.error = reader.error();
  return outcome;
}

Outcome ReadCommandsWhole(std::string_view bytes, const CommandLimits& limits = {}) {
  return ReadInPieces(bytes, {bytes.size()}, limits);
}

// What comes out must not depend on where the bytes were cut: in two anywhere, or each by itself.
Outcome Read(std::string_view bytes, const CommandLimits& limits = {}) {
  const Outcome whole = ReadCommandsWhole(bytes, limits);
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    EXPECT_EQ(ReadInPieces(bytes, {cut, bytes.size()}, limits), whole) << "cut at " << cut;
  }
  std::vector<std::size_t> each(bytes.size());
  for (std::size_t i = 0; i < each.size(); ++i) each[i] = i + 1;
  EXPECT_EQ(ReadInPieces(bytes, each, limits), whole) << "byte by byte";
  return whole;
}

std::vector<Command> Commands(std::string_view bytes) {
  const Outcome outcome = Read(bytes);
  EXPECT_EQ(outcome.error, "");
  return outcome.commands;
}

TEST(CommandReader, ReadsArraysOfBulkStrings) {
  EXPECT_THAT(Commands("*1\r\n$4\r\nPING\r\n"), ElementsAre(Command{"PING"}));
  EXPECT_THAT(Commands("*2\r\n$4\r\nECHO\r\n$0\r\n\r\n*1\r\n$4\r\nQUIT\r\n"),
              ElementsAre(Command{"ECHO", ""}, Command{"QUIT"}));
}

TEST(CommandReader, ArgumentsMayHoldAnyBytes) {
  std::string bytes;
  const std::string all = "\r\n\0*1\r\n$\xFF"s;
  resp::AppendCommand(bytes, {"ECHO", all});
  EXPECT_THAT(Commands(bytes + bytes), ElementsAre(Command{"ECHO", all}, Command{"ECHO", all}));
}

TEST(CommandReader, SkipsEmptyCommands) {
  EXPECT_THAT(Commands("*0\r\n*-1\r\n\r\n\n  \r\n*1\r\n$4\r\nPING\r\n\r\n"),
              ElementsAre(Command{"PING"}));
}

TEST(CommandReader, ReadsInlineCommands) {
  EXPECT_THAT(Commands("PING\r\n"), ElementsAre(Command{"PING"}));
  EXPECT_THAT(Commands("  set \t key   value \nPING\n"),
              ElementsAre(Command{"set", "key", "value"}, Command{"PING"}));
}

TEST(CommandReader, InlineCommandsAndArraysMayTakeTurns) {
  EXPECT_THAT(Commands("PING\r\n*1\r\n$4\r\nTIME\r\nQUIT\r\n"),
              ElementsAre(Command{"PING"}, Command{"TIME"}, Command{"QUIT"}));
}

TEST(CommandReader, DoubleQuotesHoldEscapes) {
  EXPECT_THAT(Commands(R"(echo "a b" "\x41\n\t\"\\\q" "\xZ1" "")"
                       "\r\n"),
              ElementsAre(Command{"echo", "a b", "A\n\t\"\\q", "xZ1", ""}));
  EXPECT_THAT(Commands(R"(echo "\r\b\a")"
                       "\n"),
              ElementsAre(Command{"echo", "\r\b\a"}));
}

TEST(CommandReader, SingleQuotesAreLiteral) {
  EXPECT_THAT(Commands(R"(echo 'a\n"b' 'it\'s')"
                       "\n"),
              ElementsAre(Command{"echo", "a\\n\"b", "it's"}));
}

TEST(CommandReader, AQuoteMayBeginInsideAWord) {
  EXPECT_THAT(Commands("set key:\"a b\" 1\n"), ElementsAre(Command{"set", "key:a b", "1"}));
}

TEST(CommandReader, AnInlineCommandEndsAtAZero) {
  EXPECT_THAT(Commands("PING\0 \"\n"s), ElementsAre(Command{"PING"}));
}

TEST(CommandReader, QuotesThatDoNotEndAreAnError) {
  for (const std::string_view line : {"echo \"a\n", "echo 'a\n", "echo \"a\"b\n", "echo 'a'b\n",
                                      "echo \"a\\\n", "echo \"a\\\"\n"}) {
    EXPECT_EQ(Read(line).error, "Protocol error: unbalanced quotes in request") << line;
  }
}

TEST(CommandReader, WrongCountsOfArgumentsAreAnError) {
  for (const std::string_view bytes :
       {"*a\r\n", "*1a\r\n", "*\r\n", "*+1\r\n", "*01\r\n", "*--1\r\n", "*-\r\n", "*-0\r\n",
        "*1\n$4\r\n", "*1\rx", "*99999999999999999999999\r\n", "*16385\r\n", "* 1\r\n"}) {
    EXPECT_EQ(Read(bytes).error, "Protocol error: invalid multibulk length") << bytes;
  }
}

TEST(CommandReader, WrongLengthsOfArgumentsAreAnError) {
  for (const std::string_view length :
       {"a", "-1", "01", "", "+4", "524289", "99999999999999999999", "4\n"}) {
    EXPECT_EQ(Read("*1\r\n$" + std::string(length) + "\r\n").error,
              "Protocol error: invalid bulk length")
        << length;
  }
}

TEST(CommandReader, OnlyBulkStringsAreArguments) {
  EXPECT_EQ(Read("*1\r\n:1\r\n").error, "Protocol error: expected '$', got ':'");
  EXPECT_EQ(Read("*2\r\n$1\r\na\r\nPING\r\n").error, "Protocol error: expected '$', got 'P'");
}

TEST(CommandReader, ABulkStringThatDoesNotEndWhereItShouldIsAnError) {
  EXPECT_EQ(Read("*1\r\n$3\r\nPING\r\n").error,
            "Protocol error: expected CRLF after a bulk string");
  EXPECT_EQ(Read("*1\r\n$4\r\nPING\rX").error, "Protocol error: expected CRLF after a bulk string");
}

TEST(CommandReader, CommandsBeforeAnErrorCountAndNoneAfterIt) {
  const Outcome outcome = Read("PING\r\n*1\r\n!\r\nPING\r\n");
  EXPECT_THAT(outcome.commands, ElementsAre(Command{"PING"}));
  EXPECT_EQ(outcome.error, "Protocol error: expected '$', got '!'");
}

TEST(CommandReader, AllSizesAreBounded) {
  const CommandLimits limits{
      .max_arguments = 2, .max_argument = 8, .max_inline = 16, .max_bytes = 31};
  EXPECT_EQ(Read("*3\r\n", limits).error, "Protocol error: invalid multibulk length");
  EXPECT_EQ(Read("*1\r\n$9\r\n", limits).error, "Protocol error: invalid bulk length");
  EXPECT_EQ(Read("aaaaaaaaaaaaaaaaa", limits).error, "Protocol error: too big inline request");
  EXPECT_EQ(Read("aaaaaaaaaaaaaaaaa\n", limits).error, "Protocol error: too big inline request");
  EXPECT_EQ(Read("aaaaaaaaaaaaaaaa\n", limits).error, "");
  EXPECT_EQ(Read("a b c\n", limits).error, "Protocol error: invalid multibulk length");
  EXPECT_EQ(Read("*2\r\n$8\r\naaaaaaaa\r\n$8\r\n", limits).error,
            "Protocol error: too big command");
  EXPECT_EQ(Read("*2\r\n$8\r\naaaaaaaa\r\n$4\r\nbbbb\r\n", limits).error, "");
}

TEST(CommandReader, CommandsMayBeReadLater) {
  CommandReader reader;
  std::string bytes;
  for (int i = 0; i < 100; ++i) resp::AppendCommand(bytes, {"ECHO", std::to_string(i)});
  const std::string half = bytes.substr(0, bytes.size() / 2);
  reader.Feed(half);
  int next = 0;
  const auto expect_next = [&] {
    ASSERT_EQ(reader.Next(), Status::kCommand);
    EXPECT_EQ(reader.arguments()[1], std::to_string(next++));
  };
  expect_next();
  reader.Keep();
  EXPECT_GT(reader.unread(), 0U);
  for (int i = 0; i < 10; ++i) {
    expect_next();
    reader.Keep();
  }
  reader.Feed(std::string_view(bytes).substr(half.size()));
  while (next < 100) {
    expect_next();
    reader.Keep();
  }
  EXPECT_EQ(reader.Next(), Status::kNeedMore);
  EXPECT_EQ(reader.unread(), 0U);
}

TEST(CommandReader, ACompleteCommandIsNotCopied) {
  CommandReader reader;
  const std::string bytes = "*1\r\n$4\r\nPING\r\nTIME now\r\n";
  reader.Feed(bytes);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(reader.Next(), Status::kCommand);
    EXPECT_GE(reader.arguments()[0].data(), bytes.data());
    EXPECT_LT(reader.arguments()[0].data(), bytes.data() + bytes.size());
  }
}

TEST(CommandReader, InTheSteadyStateNothingIsAllocated) {
  CommandReader reader;
  std::string bytes;
  for (int i = 0; i < 20; ++i) resp::AppendCommand(bytes, {"CL.THROTTLE", "key", "15", "30", "60"});
  bytes += "echo \"a b\"\r\n";
  const auto run = [&] {
    std::size_t commands = 0;
    for (std::size_t at = 0; at < bytes.size(); at += 100) {
      reader.Feed(std::string_view(bytes).substr(at, 100));
      while (reader.Next() == Status::kCommand) ++commands;
      reader.Keep();
    }
    return commands;
  };
  EXPECT_EQ(run(), 21U);
  const std::size_t before = Allocations();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(run(), 21U);
  EXPECT_EQ(Allocations(), before);
}

TEST(CommandReader, MemoryIsBoundedByReceivedBytes) {
  CommandReader reader;
  const std::string bytes = "*16384\r\n$524288\r\nabc";
  const std::size_t before = Allocations();
  reader.Feed(bytes);
  EXPECT_EQ(reader.Next(), Status::kNeedMore);
  EXPECT_EQ(Allocations(), before);
  EXPECT_EQ(reader.unread(), bytes.size());
}

}  // namespace
}  // namespace sluice::wire
