#include "simulate/trace_reader.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::simulate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Gives the text in portions of so many bytes.
TraceReader::Source Portions(std::string text, std::size_t portion) {
  return [text = std::move(text), portion, at = std::size_t{0}](std::span<char> into) mutable {
    const std::size_t size = std::min({into.size(), portion, text.size() - at});
    std::memcpy(into.data(), text.data() + at, size);
    at += size;
    return size;
  };
}

// A line for each row: "<line>: <seconds>s cost <cost> [duration] name=value …" or what is wrong.
std::vector<std::string> ReadAll(TraceReader reader) {
  std::vector<std::string> rows;
  while (true) {
    const TraceReader::Item item = reader.Next();
    if (item == TraceReader::Item::kEnd) return rows;
    std::string text = std::to_string(reader.line()) + ": ";
    if (item != TraceReader::Item::kCall) {
      rows.push_back(text + (item == TraceReader::Item::kBadRow ? "bad: " : "unreadable: ") +
                     reader.problem());
      continue;
    }
    const TraceRow& row = reader.row();
    text += std::to_string(row.time.time_since_epoch() / std::chrono::seconds(1)) + 's';
    text += " cost " + std::to_string(row.cost);
    if (row.duration) text += " took " + std::to_string(row.duration->count()) + "us";
    for (const auto& [name, value] : row.attributes) {
      text += ' ' + std::string(name) + '=' + std::string(value);
    }
    rows.push_back(text);
  }
}

// Reads the text whole and cut at every byte, which must make no difference.
std::vector<std::string> Rows(const std::string& text) {
  std::vector<std::string> whole = ReadAll(TraceReader(Portions(text, text.size() + 1)));
  for (const std::size_t portion : {1, 2, 3, 7}) {
    EXPECT_EQ(ReadAll(TraceReader(Portions(text, portion))), whole) << "in portions of " << portion;
  }
  for (std::size_t cut = 1; cut < text.size(); ++cut) {
    TraceReader::Source source = [&, at = std::size_t{0}](std::span<char> into) mutable {
      const std::size_t end = at < cut ? cut : text.size();
      const std::size_t size = std::min(into.size(), end - at);
      std::memcpy(into.data(), text.data() + at, size);
      at += size;
      return size;
    };
    EXPECT_EQ(ReadAll(TraceReader(std::move(source))), whole) << "cut at " << cut;
  }
  return whole;
}

TEST(TraceReaderTest, CsvColumnsAreAttributesButForTimeCostAndDuration) {
  EXPECT_THAT(Rows("time,api_key,cost,endpoint,duration\n"
                   "10,sk_1,3,/v1/orders,0.5\n"
                   "11,sk_2,,/v1/users,\n"),
              ElementsAre("2: 10s cost 3 took 500000us api_key=sk_1 endpoint=/v1/orders",
                          "3: 11s cost 1 api_key=sk_2 endpoint=/v1/users"));
}

TEST(TraceReaderTest, AnEmptyCsvValueIsNoAttribute) {
  EXPECT_THAT(Rows("time,api_key,ip\n1,,192.0.2.1\n2,\"\",\n"),
              ElementsAre("2: 1s cost 1 ip=192.0.2.1", "3: 2s cost 1"));
}

TEST(TraceReaderTest, QuotedCsvValuesMayHoldCommasQuotesAndLines) {
  EXPECT_THAT(Rows("time,user,\"agent\"\n"
                   "1,\"Doe, Jane\",\"say \"\"hi\"\"\"\n"
                   "\"2\",\"two\nlines\",\"\"\"\"\n"
                   "3,\"carriage\r\nreturn\",plain\n"
                   "4,x,y\n"),
              ElementsAre("2: 1s cost 1 user=Doe, Jane agent=say \"hi\"",
                          "3: 2s cost 1 user=two\nlines agent=\"",
                          "5: 3s cost 1 user=carriage\r\nreturn agent=plain",
                          "7: 4s cost 1 user=x agent=y"));
}

TEST(TraceReaderTest, CsvLinesMayEndAsOnWindowsOrNotAtAll) {
  EXPECT_THAT(Rows("time,user\r\n1,a\r\n2,\"b\"\r\n\r\n3,\"c\""),
              ElementsAre("2: 1s cost 1 user=a", "3: 2s cost 1 user=b", "5: 3s cost 1 user=c"));
  EXPECT_THAT(Rows("time,user\n1,a"), ElementsAre("2: 1s cost 1 user=a"));
  EXPECT_THAT(Rows("time,user\n1,\"a\"\r"), ElementsAre("2: 1s cost 1 user=a"));
}

TEST(TraceReaderTest, AByteOrderMarkIsNoPartOfTheFirstName) {
  EXPECT_THAT(Rows("\xEF\xBB\xBFtime,user\n1,a\n"), ElementsAre("2: 1s cost 1 user=a"));
}

TEST(TraceReaderTest, ABadCsvRowIsReportedAndTheNextIsRead) {
  EXPECT_THAT(Rows("time,user,cost\n"
                   "1,a\n"
                   "2,b,1,x\n"
                   "soon,c,1\n"
                   "4,d,many\n"
                   "5,e,-1\n"
                   "6,f,1\n"),
              ElementsAre("2: bad: 2 values, but the header names 3 columns",
                          "3: bad: 4 values, but the header names 3 columns",
                          "4: bad: time: expected a date such as 2026-11-15T12:00:00Z or a number, "
                          "found \"soon\"",
                          "5: bad: cost: expected a whole number, at least 1, found \"many\"",
                          "6: bad: cost: expected a whole number, at least 1, found \"-1\"",
                          "7: 6s cost 1 user=f"));
}

TEST(TraceReaderTest, AQuoteInTheWrongPlaceSpoilsOneLine) {
  EXPECT_THAT(
      Rows("time,user\n1,a\"b\n2,\"a\"b\n3,ok\n"),
      ElementsAre("2: bad: a quote inside a value that is not quoted; write \"a \"\"b\"\"\"",
                  "3: bad: after a closing quote a comma must follow", "4: 3s cost 1 user=ok"));
  EXPECT_THAT(Rows("time,user\n1,\"no end\n2,ok\n"),
              ElementsAre("2: bad: a quoted value has no end", "3: 2s cost 1 user=ok"));
}

TEST(TraceReaderTest, AQuoteWithoutEndDoesNotSwallowALongTrace) {
  std::string text = "time,user\n1,\"no end\n";
  for (int i = 0; i < 200'000; ++i) text += "2,somebody\n";
  const auto rows = ReadAll(TraceReader(Portions(text, 4096)));
  ASSERT_EQ(rows.size(), 200'001U);
  EXPECT_EQ(rows[0], "2: bad: a quoted value has no end");
  EXPECT_EQ(rows[1], "3: 2s cost 1 user=somebody");
}

TEST(TraceReaderTest, ACsvHeaderThatMakesNoSenseIsUnreadable) {
  EXPECT_THAT(Rows("user,cost\na,1\n"),
              ElementsAre("1: unreadable: the header has no column `time`; it names user, cost"));
  EXPECT_THAT(Rows("time,a,a\n"), ElementsAre("1: unreadable: the header names `a` twice"));
  EXPECT_THAT(Rows("time,,a\n"),
              ElementsAre("1: unreadable: the header has a column without a name"));
}

TEST(TraceReaderTest, JsonAttributesStandInAnObjectOrBesideTheTime) {
  EXPECT_THAT(
      Rows(R"({"time": 10, "attributes": {"api_key": "sk_1", "cost": "x"}, "cost": 3})"
           "\n"
           R"({"api_key":"sk_2","time":"1970-01-01T00:00:11Z","duration":0.25,"endpoint":"/v1"})"
           "\r\n\n"
           R"(  {"time": 12.75})"),
      ElementsAre("1: 10s cost 3 api_key=sk_1 cost=x",
                  "2: 11s cost 1 took 250000us api_key=sk_2 endpoint=/v1", "4: 12s cost 1"));
}

TEST(TraceReaderTest, JsonNumbersAndTruthValuesAreAttributesToo) {
  EXPECT_THAT(
      Rows(R"({"time":1,"a":1.50,"b":true,"c":false,"d":null,"e":"","f":"\u00e4 \"q\"","g" : 7 })"),
      ElementsAre("1: 1s cost 1 a=1.5 b=true c=false f=ä \"q\" g=7"));
}

TEST(TraceReaderTest, ABadJsonRowIsReportedAndTheNextIsRead) {
  const auto rows = Rows(
      "{\"time\":1}\n"
      "{\"time\":2\n"
      "[3]\n"
      "{\"user\":\"a\"}\n"
      "{\"time\":5,\"tags\":[\"a\"]}\n"
      "{\"time\":6} {}\n"
      "{\"time\":\"soon\"}\n"
      "{\"time\":8,\"cost\":1.5}\n"
      "{\"time\":9,\"a\":1x}\n"
      "{\"time\":10}\n");
  ASSERT_EQ(rows.size(), 10U);
  EXPECT_EQ(rows[0], "1: 1s cost 1");
  EXPECT_THAT(rows[1], HasSubstr("2: bad: not a JSON object"));
  EXPECT_THAT(rows[2], HasSubstr("3: bad: not a JSON object"));
  EXPECT_EQ(rows[3], "4: bad: has no `time`");
  EXPECT_EQ(rows[4], "5: bad: tags: expected one value, found a list or an object");
  EXPECT_THAT(rows[5], HasSubstr("6: bad: not a JSON object"));
  EXPECT_THAT(rows[6], HasSubstr("7: bad: time: expected a date"));
  EXPECT_EQ(rows[7], "8: bad: cost: expected a whole number, at least 1, found \"1.5\"");
  EXPECT_THAT(rows[8], HasSubstr("9: bad: not a JSON object"));
  EXPECT_EQ(rows[9], "10: 10s cost 1");
}

TEST(TraceReaderTest, NumbersMayBeGivenAUnit) {
  EXPECT_THAT(ReadAll(TraceReader(Portions("time,a\n5000,x\n", 100), TimeUnit::kMillis)),
              ElementsAre("2: 5s cost 1 a=x"));
}

TEST(TraceReaderTest, ALineBeyondAllBoundsIsUnreadable) {
  const std::string text = "time,user\n1,a\n2," + std::string(3 * kMaxRowBytes, 'x') + "\n3,c\n";
  EXPECT_THAT(
      ReadAll(TraceReader(Portions(text, 65536))),
      ElementsAre("2: 1s cost 1 user=a", "3: unreadable: the line is longer than 1048576 bytes"));
}

TEST(TraceReaderTest, NothingAtAllIsATraceOfNoCalls) {
  EXPECT_THAT(Rows(""), ElementsAre());
  EXPECT_THAT(Rows("\n\n"), ElementsAre());
  EXPECT_THAT(Rows("time,user\n"), ElementsAre());
}

}  // namespace
}  // namespace sluice::simulate
