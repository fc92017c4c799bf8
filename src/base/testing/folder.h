#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace sluice::testing {

/// A directory of its own for a test; gone with it.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] std::string operator/(std::string_view name) const {
    return (path_ / name).string();
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Truncates the file, or makes it, and writes.
void WriteInPlace(const std::string& path, std::string_view content);
/// Writes another file and renames it to `path`, as editors do.
void WriteByRename(const std::string& path, std::string_view content);

/// A directory as the kubelet fills it: the file is a link into `..data`, which is a link to a
/// directory that is never changed. A change makes a new directory, renames a new link over
/// `..data`, and removes the old directory.
class ConfigMapVolume {
 public:
  /// `name` is the file's.
  ConfigMapVolume(std::filesystem::path mount, std::string name, std::string_view content);

  void Update(std::string_view content);
  [[nodiscard]] std::string file() const { return (mount_ / name_).string(); }

 private:
  std::filesystem::path MakeData(std::string_view content);

  std::filesystem::path mount_;
  std::string name_;
  int updates_ = 0;
  std::filesystem::path data_;
};

}  // namespace sluice::testing
