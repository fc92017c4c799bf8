#include "rules/path_places.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/testing/folder.h"

namespace sluice::rules {

// For messages of failed tests.
void PrintTo(const Place& place, std::ostream* out) {
  *out << place.directory << " : " << place.name;
}

namespace {

namespace fs = std::filesystem;
using testing::ConfigMapVolume;
using ::testing::ElementsAre;
using testing::Folder;

TEST(PathPlacesTest, APlainFileIsOnePlaceEvenIfItIsMissing) {
  const Folder folder;
  EXPECT_THAT(PlacesOn(folder / "rules.yaml"), ElementsAre(Place{folder.path(), "rules.yaml"}));
}

TEST(PathPlacesTest, ARelativePathBeginsInTheWorkingDirectory) {
  const fs::path here = fs::canonical(fs::current_path());
  EXPECT_THAT(PlacesOn("rules.yaml"), ElementsAre(Place{here, "rules.yaml"}));
  EXPECT_THAT(PlacesOn("./rules.yaml"), ElementsAre(Place{here, "rules.yaml"}));
  EXPECT_THAT(PlacesOn("../rules.yaml"), ElementsAre(Place{here.parent_path(), "rules.yaml"}));
}

TEST(PathPlacesTest, ALinkAndWhatItLeadsToAreBothPlaces) {
  const Folder folder;
  fs::create_directories(folder / "a");
  fs::create_directories(folder / "b");
  fs::create_symlink("../b/real.yaml", folder / "a/rules.yaml");
  EXPECT_THAT(PlacesOn(folder / "a/rules.yaml"),
              ElementsAre(Place{folder / "a", "rules.yaml"}, Place{folder / "b", "real.yaml"}));
}

TEST(PathPlacesTest, AnAbsoluteLinkIsFollowedFromTheRoot) {
  const Folder folder;
  testing::WriteInPlace(folder / "real.yaml", "");
  fs::create_symlink(folder / "real.yaml", folder / "rules.yaml");
  EXPECT_THAT(PlacesOn(folder / "rules.yaml"),
              ElementsAre(Place{folder.path(), "rules.yaml"}, Place{folder.path(), "real.yaml"}));
}

TEST(PathPlacesTest, EveryLinkOfAConfigMapVolumeIsAPlace) {
  const Folder folder;
  const ConfigMapVolume volume(folder / "mount", "rules.yaml", "rules: []");
  EXPECT_THAT(PlacesOn(volume.file()),
              ElementsAre(Place{folder / "mount", "rules.yaml"}, Place{folder / "mount", "..data"},
                          Place{folder / "mount/..2026_11_15_10_00_1", "rules.yaml"}));
}

TEST(PathPlacesTest, TheWayEndsAtADirectoryThatIsMissing) {
  const Folder folder;
  EXPECT_THAT(PlacesOn(folder / "etc/sluice/rules.yaml"), ElementsAre(Place{folder.path(), "etc"}));
}

TEST(PathPlacesTest, ACircleOfLinksEnds) {
  const Folder folder;
  fs::create_symlink("b", folder / "a");
  fs::create_symlink("a", folder / "b");
  EXPECT_EQ(PlacesOn(folder / "a").size(), 41U);
}

}  // namespace
}  // namespace sluice::rules
