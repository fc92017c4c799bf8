#include "wire/http_name.h"

#include <string>

#include <gtest/gtest.h>

namespace sluice::wire {
namespace {

TEST(HttpName, IsRecognizedIgnoringCase) {
  for (std::size_t i = 1; i < kHttpNames.size(); ++i) {
    const auto expected = static_cast<HttpName>(i);
    std::string name(kHttpNames[i]);
    EXPECT_EQ(FindHttpName(name), expected) << name;
    for (std::size_t at = 0; at < name.size(); at += 2) {
      if (name[at] != '-') name[at] = static_cast<char>(name[at] - 0x20);
    }
    EXPECT_EQ(FindHttpName(name), expected) << name;
    for (char& c : name) c = c == '-' ? c : static_cast<char>(c & ~0x20);
    EXPECT_EQ(FindHttpName(name), expected) << name;
  }
}

TEST(HttpName, IsNotRecognizedWithOneByteDifferentMissingOrExtra) {
  for (std::size_t i = 1; i < kHttpNames.size(); ++i) {
    const std::string name(kHttpNames[i]);
    for (std::size_t at = 0; at < name.size(); ++at) {
      std::string other = name;
      other[at] = other[at] == 'q' ? 'z' : 'q';
      EXPECT_EQ(FindHttpName(other), HttpName::kOther) << other;
      other[at] = '_';
      EXPECT_EQ(FindHttpName(other), HttpName::kOther) << other;
      EXPECT_EQ(FindHttpName(std::string(name).erase(at, 1)), HttpName::kOther) << name << at;
    }
    EXPECT_EQ(FindHttpName(name + 's'), HttpName::kOther) << name;
    EXPECT_EQ(FindHttpName('x' + name), HttpName::kOther) << name;
  }
  EXPECT_EQ(FindHttpName(""), HttpName::kOther);
  EXPECT_EQ(FindHttpName("TE"), HttpName::kOther);
}

TEST(HttpName, ComparesLettersWithoutTheirCaseAndNothingElse) {
  EXPECT_TRUE(EqualIgnoringCase("Keep-Alive", "keep-alive"));
  EXPECT_TRUE(EqualIgnoringCase("", ""));
  EXPECT_FALSE(EqualIgnoringCase("close", "closed"));
  EXPECT_FALSE(EqualIgnoringCase("a@b", "a`b"));
  EXPECT_FALSE(EqualIgnoringCase("a[b", "a{b"));
}

}  // namespace
}  // namespace sluice::wire
