#include "server/reloader.h"

#include <array>
#include <condition_variable>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/fingerprint.h"
#include "base/testing/folder.h"

namespace sluice::server {
namespace {

using testing::Folder;
using ::testing::HasSubstr;
using testing::WriteInPlace;

std::array<int, 2> Pipe() {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe(ends.data()), 0);
  return ends;
}

class ReloaderTest : public ::testing::Test {
 protected:
  ~ReloaderTest() override {
    reloader_.Stop();
    for (const int end : pipe_) close(end);
  }

  // A component whose file must not be "bad".
  ReloadedComponent Component(const std::string& name, Live<std::string>& live) {
    WriteInPlace(folder_ / name, "one");
    return {.name = name,
            .thing = "words",
            .files = WatchedFiles(folder_ / name),
            .load =
                [this, &live](const FileChange& change, WallTime now) {
                  if (!change.error.empty()) return live.Refuse(change, now);
                  const std::string& text = change.files.front().content;
                  LoadReport report =
                      live.Load("", Fingerprint(change), now, [&]() -> LiveCandidate<std::string> {
                        if (text == "bad") return {.errors = {"it is bad", "very"}};
                        return {.value = std::make_shared<const std::string>(text)};
                      });
                  const std::lock_guard lock(mutex_);
                  loaded_.notify_all();
                  return report;
                },
            .describe = [] { return std::string("some words"); }};
  }
  bool Becomes(const Live<std::string>& live, const std::string& text) {
    std::unique_lock lock(mutex_);
    return loaded_.wait_for(lock, std::chrono::seconds(30),
                            [&] { return *live.Active().value == text; });
  }
  std::string Log() {
    std::array<char, 65536> bytes;
    const ssize_t size = read(pipe_[0], bytes.data(), bytes.size());
    return {bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  }

  Folder folder_;
  std::array<int, 2> pipe_ = Pipe();
  telemetry::Log log_{{.fd = pipe_[1]}};
  std::mutex mutex_;
  std::condition_variable loaded_;
  Live<std::string> words_;
  Live<std::string> others_;
  Reloader reloader_{log_};
};

TEST_F(ReloaderTest, AFirstLoadThatFailsIsAnErrorWithAllReasons) {
  ReloadedComponent component = Component("words", words_);
  WriteInPlace(folder_ / "words", "bad");
  const auto added = reloader_.Add(std::move(component));
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().message, "words can't be loaded:\nit is bad\nvery");
}

TEST_F(ReloaderTest, AFailedReloadKeepsThePreviousAndIsLogged) {
  ASSERT_TRUE(reloader_.Add(Component("words", words_)));
  EXPECT_THAT(Log(), HasSubstr("words loaded version=1 content=\"some words\""));
  WriteInPlace(folder_ / "words", "bad");
  EXPECT_EQ(reloader_.Reload("words").outcome, LoadOutcome::kRefused);
  EXPECT_THAT(Log(), HasSubstr("words reload failed, keeping previous words: it is bad"));
  EXPECT_EQ(*words_.Active().value, "one");
  EXPECT_TRUE(words_.Status().failing);
}

TEST_F(ReloaderTest, ChangedFilesAreLoaded) {
  ASSERT_TRUE(reloader_.Add(Component("words", words_)));
  ASSERT_TRUE(reloader_.Add(Component("others", others_)));
  ASSERT_TRUE(reloader_.Start());
  WriteInPlace(folder_ / "others", "two");
  EXPECT_TRUE(Becomes(others_, "two"));
  EXPECT_EQ(*words_.Active().value, "one");
  WriteInPlace(folder_ / "words", "three");
  EXPECT_TRUE(Becomes(words_, "three"));
}

TEST_F(ReloaderTest, OnRequestOneOrAllAreLoaded) {
  ASSERT_TRUE(reloader_.Add(Component("words", words_)));
  ASSERT_TRUE(reloader_.Add(Component("others", others_)));
  WriteInPlace(folder_ / "words", "two");
  WriteInPlace(folder_ / "others", "two");
  EXPECT_EQ(reloader_.Reload("words").version, 2U);
  EXPECT_EQ(*others_.Active().value, "one");
  reloader_.ReloadAll();
  EXPECT_EQ(*others_.Active().value, "two");
  EXPECT_EQ(words_.Active().number, 2U) << "unchanged content is no new version";
}

TEST_F(ReloaderTest, AComponentWithoutFilesIsLoadedOnce) {
  int loads = 0;
  ASSERT_TRUE(reloader_.Add({.name = "none",
                             .thing = "nothing",
                             .files = WatchedFiles(std::vector<std::string>{}),
                             .load = [&loads](const FileChange& change, WallTime /*now*/) {
                               ++loads;
                               EXPECT_EQ(change, FileChange{});
                               return LoadReport{.outcome = LoadOutcome::kUnchanged};
                             }}));
  EXPECT_TRUE(reloader_.Start());
  EXPECT_EQ(loads, 1);
}

}  // namespace
}  // namespace sluice::server
