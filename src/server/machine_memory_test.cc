#include "server/machine_memory.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace sluice::server {
namespace {

class MachineMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = ::testing::TempDir() + "machine_memory_" +
            ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }

  std::string root_;
};

TEST_F(MachineMemoryTest, WithoutAControlGroupItIsThatOfTheMachine) {
  EXPECT_GT(MachineMemory(root_), std::size_t{1} << 20);
  EXPECT_LT(MachineMemory(root_), std::size_t{1} << 50);
}

TEST_F(MachineMemoryTest, AControlGroupLowersIt) {
  Write("/proc/self/cgroup", "0::/system.slice/sluice.service");
  Write("/sys/fs/cgroup/system.slice/sluice.service/memory.max", "1048576");
  EXPECT_EQ(MachineMemory(root_), 1048576U);
}

TEST_F(MachineMemoryTest, SoDoTheGroupsThatItIsPartOf) {
  Write("/proc/self/cgroup", "0::/pod/sluice");
  Write("/sys/fs/cgroup/pod/sluice/memory.max", "max");
  Write("/sys/fs/cgroup/pod/memory.max", "2097152");
  EXPECT_EQ(MachineMemory(root_), 2097152U);
}

TEST_F(MachineMemoryTest, InAContainerItsOwnGroupIsTheRoot) {
  Write("/proc/self/cgroup", "0::/");
  Write("/sys/fs/cgroup/memory.max", "3145728");
  EXPECT_EQ(MachineMemory(root_), 3145728U);
}

TEST_F(MachineMemoryTest, VersionOneOfControlGroupsIsUnderstoodToo) {
  Write("/proc/self/cgroup", "5:cpu:/a\n4:memory:/a");
  Write("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "4194304");
  EXPECT_EQ(MachineMemory(root_), 4194304U);
}

}  // namespace
}  // namespace sluice::server
