#include "redis/options.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::redis {
namespace {

using ::testing::HasSubstr;

TEST(SecretTest, ItIsNotPrinted) {
  std::ostringstream out;
  out << Secret("hidden") << "|" << Secret();
  EXPECT_EQ(out.str(), "***|");
  EXPECT_EQ(::testing::PrintToString(Secret("hidden")), "***");
}

std::string ProblemOf(const Options& options) {
  const auto problem = FindProblem(options);
  return problem ? problem->message : "";
}

TEST(RedisOptionsTest, TheDefaultsAreFine) { EXPECT_EQ(ProblemOf({}), ""); }

TEST(RedisOptionsTest, ContradictionsAreFound) {
  Options two_passwords;
  two_passwords.password = Secret("hidden");
  two_passwords.password_env = "X";
  EXPECT_THAT(ProblemOf(two_passwords), HasSubstr("only one of password"));
  EXPECT_THAT(ProblemOf(two_passwords), ::testing::Not(HasSubstr("hidden")));
  EXPECT_THAT(ProblemOf({.username = "alice"}), HasSubstr("alice has no password"));
  EXPECT_THAT(ProblemOf({.host = ""}), HasSubstr("host is empty"));
  EXPECT_THAT(ProblemOf({.port = 0}), HasSubstr("port is 0"));
  EXPECT_EQ(ProblemOf({.host = "", .port = 0, .unix_socket = "/x"}), "");
  EXPECT_THAT(ProblemOf({.client_name = "a b"}), HasSubstr("client_name"));
  EXPECT_THAT(ProblemOf({.connect_timeout = Micros{0}}), HasSubstr("connect_timeout"));
  EXPECT_THAT(ProblemOf({.stall_timeout = Micros{0}}), HasSubstr("stall_timeout"));
  EXPECT_THAT(ProblemOf({.backoff_min = Micros{2}, .backoff_max = Micros{1}}),
              HasSubstr("backoff_max"));
  EXPECT_THAT(ProblemOf({.max_queued = 0}), HasSubstr("max_queued"));
}

TEST(RedisOptionsTest, AddressesAreWrittenAsUsual) {
  EXPECT_EQ(AddressOf({}), "127.0.0.1:6379");
  EXPECT_EQ(AddressOf({.host = "::1", .port = 1}), "[::1]:1");
  EXPECT_EQ(AddressOf({.unix_socket = "/run/redis.sock"}), "unix:/run/redis.sock");
}

TEST(RedisOptionsTest, APasswordFileEndsWithItsLine) {
  const std::string path = ::testing::TempDir() + "sluice_password_" + std::to_string(getpid());
  std::ofstream(path) << "pass word\r\n";
  EXPECT_EQ(ReadPassword({.password_file = path})->Reveal(), "pass word");
  std::ofstream(path, std::ios::trunc) << "\n";
  EXPECT_THAT(ReadPassword({.password_file = path}).error().message, HasSubstr("is empty"));
  std::filesystem::remove(path);
  EXPECT_THAT(ReadPassword({.password_file = path}).error().message, HasSubstr("can't be read"));
}

TEST(RedisOptionsTest, AMissingVariableIsNamed) {
  EXPECT_THAT(ReadPassword({.password_env = "SLUICE_TEST_NO_SUCH_VARIABLE"}).error().message,
              HasSubstr("SLUICE_TEST_NO_SUCH_VARIABLE is not set"));
}

TEST(RedisOptionsTest, WithoutAPasswordThereIsNone) { EXPECT_TRUE(ReadPassword({})->empty()); }

}  // namespace
}  // namespace sluice::redis
