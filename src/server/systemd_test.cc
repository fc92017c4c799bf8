#include "server/systemd.h"

#include <array>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace sluice::server {
namespace {

using std::chrono::milliseconds;

// What systemd holds the other end of.
class Manager {
 public:
  explicit Manager(const std::string& name) : name_(name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path, name.size());
    if (name[0] == '@') address.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    EXPECT_EQ(bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
  }
  ~Manager() {
    if (name_[0] == '/') unlink(name_.c_str());
  }
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }

  // Empty: nothing has come.
  std::string Receive() {
    std::array<char, 1024> buffer{};
    const ssize_t count = recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    return count < 0 ? "" : std::string(buffer.data(), static_cast<std::size_t>(count));
  }

 private:
  std::string name_;
  net::Fd socket_{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
};

std::string FileName() {
  return std::filesystem::temp_directory_path() / ("sluice-notify-" + std::to_string(getpid()));
}
std::string AbstractName() { return "@sluice-notify-" + std::to_string(getpid()); }

TEST(SystemdTest, ItHearsOfEachStage) {
  for (const std::string& name : {FileName(), AbstractName()}) {
    Manager manager(name);
    Systemd systemd({.notify_socket = name});
    EXPECT_TRUE(systemd.wanted());
    systemd.Ready();
    EXPECT_EQ(manager.Receive(), "READY=1");
    systemd.Status("12 connections\nREADY=1");
    EXPECT_EQ(manager.Receive(), "STATUS=12 connections");
    systemd.Watchdog();
    EXPECT_EQ(manager.Receive(), "WATCHDOG=1");
    systemd.Stopping();
    EXPECT_EQ(manager.Receive(), "STOPPING=1");
    EXPECT_EQ(manager.Receive(), "");
  }
}

TEST(SystemdTest, AReloadTellsItsTime) {
  Manager manager(AbstractName());
  Systemd systemd({.notify_socket = manager.name()});
  const Micros before = MonotonicMicros();
  systemd.Reloading();
  const std::string message = manager.Receive();
  const std::string expected = "RELOADING=1\nMONOTONIC_USEC=";
  ASSERT_TRUE(message.starts_with(expected)) << message;
  const Micros reported{std::stoll(message.substr(expected.size()))};
  EXPECT_GE(reported, before);
  EXPECT_LE(reported, MonotonicMicros());
}

TEST(SystemdTest, WithoutItNothingHappens) {
  for (const char* const name : {"", "@", "relative", "/no/such/socket"}) {
    Systemd systemd({.notify_socket = name});
    EXPECT_FALSE(systemd.wanted()) << name;
    systemd.Ready();
  }
}

TEST(SystemdTest, ItsEndIsNoProblem) {
  auto manager = std::make_unique<Manager>(AbstractName());
  Systemd systemd({.notify_socket = manager->name()});
  manager.reset();
  systemd.Ready();
}

class SystemdEnvironmentTest : public ::testing::Test {
 protected:
  ~SystemdEnvironmentTest() override {
    for (const char* const name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"})
      unsetenv(name);
  }
  static Micros WatchdogWith(const std::string& usec, const std::string& pid) {
    setenv("WATCHDOG_USEC", usec.c_str(), 1);
    setenv("WATCHDOG_PID", pid.c_str(), 1);
    return ReadSystemdEnvironment().watchdog;
  }
};

TEST_F(SystemdEnvironmentTest, IsEmptyElsewhere) {
  EXPECT_EQ(ReadSystemdEnvironment().notify_socket, "");
  EXPECT_EQ(ReadSystemdEnvironment().watchdog, Micros{0});
}

TEST_F(SystemdEnvironmentTest, NamesTheSocketAndTheWatchdog) {
  setenv("NOTIFY_SOCKET", "/run/systemd/notify", 1);
  EXPECT_EQ(ReadSystemdEnvironment().notify_socket, "/run/systemd/notify");
  EXPECT_EQ(WatchdogWith("3000000", ""), std::chrono::seconds(3));
  EXPECT_EQ(WatchdogWith("3000000", std::to_string(getpid())), std::chrono::seconds(3));
  EXPECT_EQ(WatchdogWith("3000000", "1"), Micros{0}) << "that is another process'";
  EXPECT_EQ(WatchdogWith("soon", ""), Micros{0});
  EXPECT_EQ(WatchdogWith("-5", ""), Micros{0});
}

class WatchdogTest : public ::testing::Test {
 protected:
  bool RunUntil(const std::function<bool()>& done) {
    return loop_.RunUntil(done, SteadyClock::Now() + std::chrono::seconds(20));
  }

  net::Loop loop_;
  Manager manager_{AbstractName()};
  Systemd systemd_{{.notify_socket = manager_.name()}};
};

TEST_F(WatchdogTest, IsNotifiedAtLeastTwicePerPeriodWhileTheLoopsRun) {
  const Watchdog watchdog(loop_, systemd_, milliseconds(20), [] { return true; });
  const SteadyTime start = SteadyClock::Now();
  for (int i = 0; i < 4; ++i) {
    std::string message;
    EXPECT_TRUE(RunUntil([&] {
      if (message.empty()) message = manager_.Receive();
      return !message.empty();
    }));
    EXPECT_EQ(message, "WATCHDOG=1");
  }
  EXPECT_GE(SteadyClock::Now() - start, milliseconds(30)) << "and no more often than that";
}

TEST_F(WatchdogTest, IsNotNotifiedWhileALoopIsStuck) {
  int asked = 0;
  bool alive = false;
  const Watchdog watchdog(loop_, systemd_, milliseconds(2), [&] {
    ++asked;
    return alive;
  });
  EXPECT_TRUE(RunUntil([&] { return asked == 3; }));
  EXPECT_EQ(manager_.Receive(), "");
  alive = true;
  EXPECT_TRUE(RunUntil([&] { return asked == 4; }));
  EXPECT_EQ(manager_.Receive(), "WATCHDOG=1");
}

TEST_F(WatchdogTest, WithoutOneNoLoopIsChecked) {
  const Watchdog watchdog(loop_, systemd_, Micros{0}, [] {
    ADD_FAILURE();
    return true;
  });
  bool posted = false;
  loop_.Post([&] { posted = true; });
  EXPECT_TRUE(RunUntil([&] { return posted; }));
}

}  // namespace
}  // namespace sluice::server
