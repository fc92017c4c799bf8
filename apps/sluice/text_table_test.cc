#include "text_table.h"

#include <string>

#include <gtest/gtest.h>

#include "progress.h"

namespace sluice::app {
namespace {

using std::chrono::seconds;

TEST(TextTableTest, ColumnsAreAsWideAsTheirWidestCell) {
  TextTable table({TextTable::Align::kLeft, TextTable::Align::kRight, TextTable::Align::kLeft});
  table.Add({"rule", "met", "key"});
  table.Add({"a", "12345", "ä"});
  table.Add({"longer", "1"});
  std::string out;
  table.Print(2, out);
  EXPECT_EQ(out,
            "  rule      met  key\n"
            "  a       12345  ä\n"
            "  longer      1\n");
}

TEST(TextTableTest, ControlCharactersDoNotReachTheTerminal) {
  EXPECT_EQ(Shown("a\x1b[31mb\n\x7f"), "a\\x1b[31mb\\x0a\\x7f");
  EXPECT_EQ(Shown("ä €"), "ä €");
}

TEST(ProgressTest, TheLineTellsHowFarItIsAndHowLongItTakes) {
  EXPECT_EQ(ProgressLine(50, 100, 2000, seconds(2)),
            "[===============>              ]  50 %  2000 calls, 1000/s, 2 s left");
  EXPECT_EQ(ProgressLine(100, 100, 10, seconds(1)),
            "[==============================] 100 %  10 calls, 10/s, 0 s left");
  EXPECT_EQ(ProgressLine(0, 100, 0, seconds(0)),
            "[>                             ]   0 %  0 calls, 0/s");
}

TEST(ProgressTest, WhatHasNoKnownEndHasNoBar) {
  EXPECT_EQ(ProgressLine(50, std::nullopt, 30, seconds(3)), "30 calls, 10/s");
}

}  // namespace
}  // namespace sluice::app
