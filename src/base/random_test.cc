#include "base/random.h"

#include <array>
#include <set>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sluice {
namespace {

using Ids = std::array<std::uint64_t, 40>;

Ids SomeIds() {
  Ids ids{};
  for (std::uint64_t& id : ids) id = RandomId();
  return ids;
}

TEST(RandomTest, IdsAreDifferentAndNotZero) {
  std::set<std::uint64_t> seen = {0};
  for (int i = 0; i < 10'000; ++i) EXPECT_TRUE(seen.insert(RandomId()).second);
}

TEST(RandomTest, AForkedProcessGeneratesDifferentIds) {
  RandomId();  // So that there is something to inherit.
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const Ids ids = SomeIds();
    const bool written = write(pipe_ends[1], ids.data(), sizeof ids) == sizeof ids;
    _exit(written ? 0 : 1);
  }
  Ids of_child{};
  const ssize_t got = read(pipe_ends[0], of_child.data(), sizeof of_child);
  waitpid(child, nullptr, 0);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  ASSERT_EQ(got, static_cast<ssize_t>(sizeof of_child));
  const Ids ours = SomeIds();
  const std::set<std::uint64_t> known(ours.begin(), ours.end());
  for (const std::uint64_t id : of_child) EXPECT_FALSE(known.contains(id)) << id;
}

}  // namespace
}  // namespace sluice
