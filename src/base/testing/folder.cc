#include "base/testing/folder.h"

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace sluice::testing {

namespace fs = std::filesystem;

Folder::Folder() {
  // Without links on the way, so that tests know what their paths mean.
  std::string path = (fs::canonical(fs::temp_directory_path()) / "sluice-rules-XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("can't make " + path);
  path_ = path;
}

Folder::~Folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void WriteInPlace(const std::string& path, std::string_view content) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << content;
  if (!file.flush()) throw std::runtime_error("can't write " + path);
}

void WriteByRename(const std::string& path, std::string_view content) {
  WriteInPlace(path + ".new", content);
  fs::rename(path + ".new", path);
}

ConfigMapVolume::ConfigMapVolume(fs::path mount, std::string name, std::string_view content)
    : mount_(std::move(mount)), name_(std::move(name)) {
  fs::create_directories(mount_);
  data_ = MakeData(content);
  fs::create_symlink(data_.filename(), mount_ / "..data");
  fs::create_symlink(fs::path("..data") / name_, mount_ / name_);
}

void ConfigMapVolume::Update(std::string_view content) {
  const fs::path old = std::exchange(data_, MakeData(content));
  fs::create_symlink(data_.filename(), mount_ / "..data_tmp");
  fs::rename(mount_ / "..data_tmp", mount_ / "..data");
  fs::remove_all(old);
}

fs::path ConfigMapVolume::MakeData(std::string_view content) {
  fs::path data = mount_ / ("..2026_11_15_10_00_" + std::to_string(++updates_));
  fs::create_directory(data);
  WriteInPlace((data / name_).string(), content);
  return data;
}

}  // namespace sluice::testing
