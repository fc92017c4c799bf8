#include "base/url.h"

#include <array>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace sluice {
namespace {

std::string Decoded(std::string_view text, PlusSign plus = PlusSign::kItself) {
  std::array<char, 64> room;
  const auto decoded = DecodePercent(text, plus, room);
  return decoded ? std::string(*decoded) : "refused";
}

// "name=value;" for each parameter, then what could not be decoded.
std::string Parameters(std::string_view query) {
  std::string room(query.size(), '\0');
  QueryParameters parameters(query, room);
  std::string seen;
  while (parameters.Next()) {
    seen.append(parameters.name());
    if (parameters.has_value()) seen.append("=").append(parameters.value());
    seen.append(";");
  }
  if (parameters.failed()) seen.append("refused ").append(parameters.error());
  return seen;
}

TEST(DecodePercent, ReplacesEscapesByTheirBytes) {
  EXPECT_EQ(Decoded(""), "");
  EXPECT_EQ(Decoded("/plain"), "/plain");
  EXPECT_EQ(Decoded("%41%6a%6A"), "Ajj");
  EXPECT_EQ(Decoded("/a%20b%2Fc"), "/a b/c");
  EXPECT_EQ(Decoded("x%00y"), std::string("x\0y", 3));
  EXPECT_EQ(Decoded("%FF"), "\xFF");
  EXPECT_EQ(Decoded("%2541"), "%41") << "decoded once only";
}

TEST(DecodePercent, DecodesAPlusAsABlankOnlyInQueries) {
  EXPECT_EQ(Decoded("a+b%2B", PlusSign::kItself), "a+b+");
  EXPECT_EQ(Decoded("a+b%2B", PlusSign::kBlank), "a b+");
}

TEST(DecodePercent, RejectsInvalidEscapes) {
  for (const std::string_view text :
       {"%", "a%", "%4", "%g0", "%0g", "%%41", "% 41", "%-1", "a%4"}) {
    EXPECT_EQ(Decoded(text), "refused") << text;
  }
}

TEST(DecodePercent, DoesNotCopyTextsWithoutEscapes) {
  const std::string_view text = "user:123";
  EXPECT_EQ(DecodePercent(text, PlusSign::kBlank, {})->data(), text.data());
}

TEST(SplitTarget, SplitsTargetsAndUrls) {
  const auto parts = [](std::string_view text) {
    const RequestTarget target = SplitTarget(text);
    return std::string(target.host) + " " + std::string(target.path) + " " +
           std::string(target.query);
  };
  EXPECT_EQ(parts("/a/b?c=d?e"), " /a/b c=d?e");
  EXPECT_EQ(parts("/"), " / ");
  EXPECT_EQ(parts("https://h:1/a?b"), "h:1 /a b");
  EXPECT_EQ(parts("http://h"), "h / ");
  EXPECT_EQ(parts("http://h?a=/b"), "h / a=/b");
  EXPECT_EQ(parts("/a#/b?c"), " /a ");
  EXPECT_EQ(parts("/a?b#c"), " /a b");
  EXPECT_EQ(parts("http://h#/a"), "h / ");
  EXPECT_EQ(parts("/go?to=http://h/a"), " /go to=http://h/a");
  EXPECT_EQ(parts("/http://h/a"), " /http://h/a ");
  EXPECT_EQ(parts(""), "  ");
  EXPECT_EQ(parts("a/b"), " a/b ");
}

TEST(QueryParameters, AreIteratedInOrder) {
  EXPECT_EQ(Parameters(""), "");
  EXPECT_EQ(Parameters("key=user:123"), "key=user:123;");
  EXPECT_EQ(Parameters("a=b&c"), "a=b;c;");
  EXPECT_EQ(Parameters("a=&=b&="), "a=;=b;=;");
  EXPECT_EQ(Parameters("&&a=1&&&b=2&"), "a=1;b=2;");
  EXPECT_EQ(Parameters("a=1&a=2"), "a=1;a=2;");
  EXPECT_EQ(Parameters("a=b=c?d"), "a=b=c?d;");
}

TEST(QueryParameters, AreDecodedAfterTheyAreSplit) {
  EXPECT_EQ(Parameters("a%3Db=c%26d&e+f=%2B+"), "a=b=c&d;e f=+ ;");
}

TEST(QueryParameters, EndAtTheFirstThatCannotBeDecoded) {
  EXPECT_EQ(Parameters("a=1&b=%zz&c=3"), "a=1;refused b=%zz");
  EXPECT_EQ(Parameters("%=1"), "refused %=1");
}

TEST(QueryParameters, StayValidWhileOthersAreDecoded) {
  const std::string_view query = "%61=%31&b=2&%63=%33";
  std::string room(query.size(), '\0');
  QueryParameters parameters(query, room);
  ASSERT_TRUE(parameters.Next());
  const std::string_view first = parameters.name();
  const std::string_view one = parameters.value();
  ASSERT_TRUE(parameters.Next());
  ASSERT_TRUE(parameters.Next());
  EXPECT_EQ(first, "a");
  EXPECT_EQ(one, "1");
  EXPECT_EQ(parameters.name(), "c");
  EXPECT_EQ(parameters.value(), "3");
}

}  // namespace
}  // namespace sluice
