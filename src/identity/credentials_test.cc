#include "identity/credentials.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "identity/options.h"

namespace sluice::identity {
namespace {

using Lines = std::vector<HeaderLine>;

std::string Text(const Credential& credential) {
  switch (credential.status) {
    case Credential::Status::kAbsent:
      return "absent";
    case Credential::Status::kSeveral:
      return "several";
    case Credential::Status::kPresent:
      break;
  }
  return "'" + std::string(credential.value) + "'";
}

std::string InHeader(const Lines& lines) {
  return Text(FindHeader(HeaderSpan<HeaderLine>(lines), "X-API-Key"));
}
std::string InBearer(const Lines& lines) { return Text(FindBearer(HeaderSpan<HeaderLine>(lines))); }
std::string InCookie(const Lines& lines) {
  return Text(FindCookie(HeaderSpan<HeaderLine>(lines), "key"));
}
std::string InQuery(std::string_view query) {
  std::string buffer;
  return Text(FindQuery(query, "api_key", buffer));
}

TEST(Credentials, AHeaderIsFoundInAnyCase) {
  EXPECT_EQ(InHeader({{"Host", "a"}, {"x-api-KEY", " k1\t"}}), "'k1'");
  EXPECT_EQ(InHeader({{"X-API-Key2", "k1"}, {"X-API-Ke", "k2"}}), "absent");
  EXPECT_EQ(InHeader({{"X-API-Key", ""}}), "absent");
  EXPECT_EQ(InHeader({{"X-API-Key", ""}, {"X-API-Key", "k1"}}), "'k1'");
}

TEST(Credentials, DifferentValuesAreAmbiguous) {
  EXPECT_EQ(InHeader({{"X-API-Key", "k1"}, {"X-Api-Key", "k1"}}), "'k1'");
  EXPECT_EQ(InHeader({{"X-API-Key", "k1"}, {"X-Api-Key", "k2"}}), "several");
  EXPECT_EQ(InHeader({{"X-API-Key", "k1"}, {"X-Api-Key", "k2"}, {"X-Api-Key", "k1"}}), "several");
  EXPECT_EQ(InBearer({{"Authorization", "Bearer a"}, {"Authorization", "Basic b"}}), "several");
  EXPECT_EQ(InQuery("api_key=a&api_key=b"), "several");
  EXPECT_EQ(InQuery("api_key=a&api%5Fkey=b"), "several");
  EXPECT_EQ(InCookie({{"Cookie", "key=a; key=b"}}), "several");
  EXPECT_EQ(InCookie({{"Cookie", "key=a"}, {"Cookie", "key=b"}}), "several");
}

TEST(Credentials, ABearerTokenFollowsTheScheme) {
  EXPECT_EQ(InBearer({{"Authorization", "Bearer abc"}}), "'abc'");
  EXPECT_EQ(InBearer({{"authorization", "bEARER   abc"}}), "'abc'");
  for (const char* value : {"Bearer", "Bearer ", "Basic abc", "Bearerabc", "abc", ""}) {
    EXPECT_EQ(InBearer({{"Authorization", value}}), "absent") << value;
  }
}

TEST(Credentials, ACookieIsTakenAsItIs) {
  EXPECT_EQ(InCookie({{"Cookie", "a=b; key=v%20=1;c=d"}}), "'v%20=1'");
  EXPECT_EQ(InCookie({{"Cookie", "a=b"}, {"Cookie", " key = v "}}), "'v'");
  for (const char* value : {"xkey=v", "keyx=v", "key", "key=", "Key=v", "a=key=v", ""}) {
    EXPECT_EQ(InCookie({{"Cookie", value}}), "absent") << value;
  }
}

TEST(Credentials, AParameterIsDecoded) {
  EXPECT_EQ(InQuery("a=b&api_key=k1&c"), "'k1'");
  EXPECT_EQ(InQuery("api%5fkey=a%2Bb+c"), "'a+b c'");
  EXPECT_EQ(InQuery("x=%zz&api_key=k1&y=%"), "'k1'");
  for (const char* query : {"", "api_key", "api_key=", "api_key=%zz", "API_KEY=a", "b=api_key=a"}) {
    EXPECT_EQ(InQuery(query), "absent") << query;
  }
}

TEST(Source, IsReadFromText) {
  EXPECT_EQ(ParseSource("header:X-Key").value(), (Source{Source::Kind::kHeader, "X-Key"}));
  EXPECT_EQ(ParseSource("bearer").value(), (Source{Source::Kind::kBearer, ""}));
  EXPECT_EQ(ParseSource("query:k").value(), (Source{Source::Kind::kQuery, "k"}));
  EXPECT_EQ(ParseSource("cookie:c").value(), (Source{Source::Kind::kCookie, "c"}));
  EXPECT_EQ(ParseSource("jwt").value(), (Source{Source::Kind::kJwt, ""}));
  for (const char* text : {"", "header", "header:", "bearer:x", "jwt:", "X-API-Key", "Bearer"}) {
    EXPECT_FALSE(ParseSource(text).ok()) << text;
  }
}

}  // namespace
}  // namespace sluice::identity
