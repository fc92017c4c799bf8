#include "telemetry/log.h"

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fake_clock.h"

namespace sluice::telemetry {
namespace {

using namespace std::chrono_literals;
using ::testing::EndsWith;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::Optional;
using ::testing::StartsWith;

// 2026-11-16 00:12:07.000123 UTC
constexpr WallTime kNow{Micros{1'794'787'927'000'123}};

const KeyHasher& Hasher() {
  static const KeyHasher kHasher;
  return kHasher;
}

std::string Line(LogFormat format, std::string_view message,
                 std::initializer_list<LogField> fields = {}, std::uint64_t suppressed = 0) {
  std::string out;
  AppendLogLine({kNow, LogLevel::kInfo, message, fields, suppressed}, format, Hasher(), out);
  return out;
}

/// Two ends: the log writes to one, the test reads from the other.
class Ends {
 public:
  enum class Kind { kPipe, kSocket };

  explicit Ends(Kind kind) {
    if (kind == Kind::kPipe) {
      EXPECT_EQ(pipe2(ends_.data(), O_CLOEXEC), 0);
    } else {
      EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_.data()), 0);
    }
    EXPECT_EQ(fcntl(ends_[0], F_SETFL, O_NONBLOCK), 0);
  }
  ~Ends() {
    CloseReader();
    close(ends_[1]);
  }
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;

  [[nodiscard]] int writer() const { return ends_[1]; }

  void CloseReader() {
    if (ends_[0] >= 0) close(ends_[0]);
    ends_[0] = -1;
  }

  /// All that is there.
  [[nodiscard]] std::string Read() const {
    std::string all;
    std::array<char, 65536> buffer;
    for (ssize_t got = 0; (got = read(ends_[0], buffer.data(), buffer.size())) > 0;) {
      all.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return all;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(LogLineTest, TextIsForPeople) {
  EXPECT_EQ(Line(LogFormat::kText, "listening",
                 {{"protocol", "http"}, {"port", 8080}, {"ratio", 0.5}, {"tls", false}}),
            "2026-11-16T00:12:07.000123Z info listening protocol=http port=8080 ratio=0.5 "
            "tls=false\n");
}

TEST(LogLineTest, JsonIsForPrograms) {
  EXPECT_EQ(Line(LogFormat::kJson, "listening",
                 {{"protocol", "http"}, {"port", 8080}, {"ratio", 0.5}, {"tls", false}}),
            R"({"time":"2026-11-16T00:12:07.000123Z","level":"info","message":"listening",)"
            R"("protocol":"http","port":8080,"ratio":0.5,"tls":false})"
            "\n");
}

TEST(LogLineTest, NumbersAreExact) {
  EXPECT_THAT(Line(LogFormat::kJson, "n",
                   {{"a", std::numeric_limits<std::uint64_t>::max()},
                    {"b", std::numeric_limits<std::int64_t>::min()},
                    {"c", std::numeric_limits<double>::infinity()}}),
              EndsWith(R"("a":18446744073709551615,"b":-9223372036854775808,"c":null})"
                       "\n"));
}

TEST(LogLineTest, WhatSomebodySentDoesNotBreakTheLine) {
  const std::string_view hostile = "a\n2026 error \"x\" \\ \x1B[31m\t\x7F\xFF";
  EXPECT_THAT(Line(LogFormat::kJson, hostile, {{hostile, hostile}}),
              EndsWith(R"("message":"a\n2026 error \"x\" \\ \u001b[31m\t\u007f)"
                       "\xEF\xBF\xBD\","
                       R"("a\n2026 error \"x\" \\ \u001b[31m\t\u007f)"
                       "\xEF\xBF\xBD\":"
                       R"("a\n2026 error \"x\" \\ \u001b[31m\t\u007f)"
                       "\xEF\xBF\xBD\"}\n"));
  const std::string text = Line(LogFormat::kText, hostile, {{hostile, hostile}, {"b", "c=d"}});
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  EXPECT_EQ(text.find('\x1B'), std::string::npos);
  EXPECT_THAT(text, EndsWith(" b=\"c=d\"\n"));
}

TEST(LogLineTest, ValuesThatAreEmptyOrHaveSpacesAreQuoted) {
  EXPECT_THAT(Line(LogFormat::kText, "m", {{"a", ""}, {"b", "x y"}}),
              EndsWith(" m a=\"\" b=\"x y\"\n"));
}

TEST(LogLineTest, KeysAreHashed) {
  const std::string line = Line(LogFormat::kText, "m", {{"api_key", HashedKey{"demo-key"}}});
  EXPECT_THAT(line, MatchesRegex(".* api_key=hash:[0-9a-f]{16}\n"));
  EXPECT_THAT(line, Not(HasSubstr("demo")));
  EXPECT_EQ(line, Line(LogFormat::kText, "m", {{"api_key", HashedKey{"demo-key"}}}));
  EXPECT_NE(line, Line(LogFormat::kText, "m", {{"api_key", HashedKey{"demo-kez"}}}));
}

TEST(LogLineTest, ALineIsNeverLongerThanAPipeTakesWhole) {
  const std::string longest(100'000, '\x01');  // Escaped, six times as long.
  for (const LogFormat format : {LogFormat::kText, LogFormat::kJson}) {
    const std::string line =
        Line(format, longest,
             {{longest, longest}, {"fits", 1}, {"a", longest}, {"b", longest}, {"also_fits", "é"}},
             std::numeric_limits<std::uint64_t>::max());
    EXPECT_LE(line.size(), kMaxLineBytes);
    EXPECT_THAT(line, HasSubstr("also_fits"));
    EXPECT_THAT(line, EndsWith(format == LogFormat::kText ? " cut=true\n" : ",\"cut\":true}\n"));
  }
}

TEST(LogLineTest, CharactersAreNotCutInTwo) {
  std::string text = "x";
  for (int i = 0; i < 300; ++i) text += "é";
  EXPECT_THAT(Line(LogFormat::kJson, "m", {{"a", text}}), Not(HasSubstr("\xEF\xBF\xBD")));
}

TEST(LogTest, TheLevelCanBeChangedWhileRunning) {
  const FakeClock clock(kNow);
  const Ends ends(Ends::Kind::kPipe);
  Log log({.format = LogFormat::kText, .level = LogLevel::kWarn, .fd = ends.writer()}, clock);
  log.Write(LogLevel::kInfo, "one");
  log.Write(LogLevel::kError, "two");
  log.set_level(LogLevel::kDebug);
  log.Write(LogLevel::kDebug, "three", {{"n", 3}});
  EXPECT_EQ(ends.Read(),
            "2026-11-16T00:12:07.000123Z error two\n"
            "2026-11-16T00:12:07.000123Z debug three n=3\n");
  EXPECT_EQ(log.Lines()[LogLevel::kError], 1U);
  EXPECT_EQ(log.Lines()[LogLevel::kInfo], 0U);
}

class SlowSinkTest : public ::testing::TestWithParam<Ends::Kind> {};

INSTANTIATE_TEST_SUITE_P(Kinds, SlowSinkTest,
                         ::testing::Values(Ends::Kind::kPipe, Ends::Kind::kSocket),
                         [](const auto& kind) {
                           return kind.param == Ends::Kind::kPipe ? "Pipe" : "Socket";
                         });

TEST_P(SlowSinkTest, LinesAreDroppedWholeAndCountedInsteadOfWaitedFor) {
  constexpr std::uint64_t kLines = 20'000;
  const FakeClock clock(kNow);
  const Ends ends(GetParam());
  Log log({.format = LogFormat::kText, .fd = ends.writer()}, clock);
  const std::string padding(300, 'x');
  for (std::uint64_t i = 0; i < kLines; ++i) {
    log.Write(LogLevel::kInfo, "line", {{"i", i}, {"padding", padding}});
  }
  const std::uint64_t dropped = log.dropped();
  ASSERT_GT(dropped, 0U);
  ASSERT_LT(dropped, kLines);

  std::vector<std::string> lines = LinesOf(ends.Read());
  log.Write(LogLevel::kInfo, "room again");
  for (std::string& line : LinesOf(ends.Read())) lines.push_back(std::move(line));
  EXPECT_EQ(lines.size(), kLines - dropped + 2);
  EXPECT_THAT(lines.back(),
              EndsWith("warn log lines were dropped lines=" + std::to_string(dropped)));
  for (const std::string& line : lines) EXPECT_THAT(line, StartsWith("2026-11-16T"));
}

TEST_P(SlowSinkTest, AReaderThatWentAwayIsHarmless) {
  std::signal(SIGPIPE, SIG_DFL);
  Ends ends(GetParam());
  Log log({.fd = ends.writer()});
  ends.CloseReader();
  log.Write(LogLevel::kError, "hello?");
  EXPECT_EQ(log.dropped(), 1U);
}

TEST(LogTest, LinesOfSeveralThreadsDontMix) {
  constexpr int kThreads = 4;
  constexpr int kLines = 40;
  const Ends ends(Ends::Kind::kPipe);
  Log log({.format = LogFormat::kJson, .fd = ends.writer()});
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&log, t] {
      for (int i = 0; i < kLines; ++i) {
        log.Write(LogLevel::kInfo, "m", {{"t", t}, {"padding", std::string(200, 'x')}});
        log.set_level(LogLevel::kInfo);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::vector<std::string> lines = LinesOf(ends.Read());
  EXPECT_EQ(lines.size(), std::size_t{kThreads} * kLines);
  for (const std::string& line : lines) {
    EXPECT_THAT(line, MatchesRegex(R"(\{"time":"[^"]*","level":"info","message":"m",)"
                                   R"("t":[0-3],"padding":"x{200}"\})"));
  }
}

TEST(LogEveryTest, OneIsLetThroughInEachInterval) {
  LogEvery every(10s);
  const SteadyTime start{5s};
  EXPECT_THAT(every.Pass(start), Optional(Eq(0U)));
  EXPECT_EQ(every.Pass(start), std::nullopt);
  EXPECT_EQ(every.Pass(start + 10s - 1us), std::nullopt);
  EXPECT_THAT(every.Pass(start + 10s), Optional(Eq(2U)));
  EXPECT_EQ(every.Pass(start + 11s), std::nullopt);
  EXPECT_THAT(every.Pass(start + 60s), Optional(Eq(1U)));
}

TEST(LogEveryTest, TheLineSaysHowManyWereNotWritten) {
  const FakeClock clock(kNow);
  const Ends ends(Ends::Kind::kPipe);
  Log log({.format = LogFormat::kText, .fd = ends.writer()}, clock);
  LogEvery every(10s);
  for (const SteadyTime now : {SteadyTime{0s}, SteadyTime{1s}, SteadyTime{2s}, SteadyTime{10s}}) {
    log.Write(every, now, LogLevel::kWarn, "store failed", {{"error", "timeout"}});
  }
  EXPECT_EQ(ends.Read(),
            "2026-11-16T00:12:07.000123Z warn store failed error=timeout\n"
            "2026-11-16T00:12:07.000123Z warn store failed error=timeout suppressed=2\n");
}

}  // namespace
}  // namespace sluice::telemetry
