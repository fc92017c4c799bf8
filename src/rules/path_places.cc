#include "rules/path_places.h"

#include <deque>
#include <filesystem>
#include <system_error>
#include <utility>

namespace sluice::rules {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // As the kernel.

// What is still to be walked, and from where.
struct Walk {
  fs::path directory;
  std::deque<fs::path> ahead;

  void TurnInto(const fs::path& path) {
    if (path.is_absolute()) directory = path.root_path();
    const fs::path relative = path.relative_path();
    ahead.insert(ahead.begin(), relative.begin(), relative.end());
  }
};

// A path that leads nowhere further: what is missing, or a circle of links.
bool IsEnd(const fs::file_status& status, bool is_last) {
  return is_last || status.type() == fs::file_type::not_found ||
         status.type() == fs::file_type::none;
}

}  // namespace

std::vector<Place> PlacesOn(const std::string& path) {
  std::vector<Place> places;
  std::error_code error;
  Walk walk{fs::current_path(error), {}};
  walk.TurnInto(path);
  for (int links = 0; !walk.ahead.empty();) {
    const fs::path name = std::move(walk.ahead.front());
    walk.ahead.pop_front();
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      walk.directory = walk.directory.parent_path();
      continue;
    }
    const fs::path here = walk.directory / name;
    const fs::file_status status = fs::symlink_status(here, error);
    if (status.type() == fs::file_type::symlink && ++links <= kMostLinks) {
      places.push_back({walk.directory.string(), name.string()});
      walk.TurnInto(fs::read_symlink(here, error));
    } else if (IsEnd(status, walk.ahead.empty()) || links > kMostLinks) {
      places.push_back({walk.directory.string(), name.string()});
      break;
    } else {
      walk.directory = here;
    }
  }
  return places;
}

}  // namespace sluice::rules
