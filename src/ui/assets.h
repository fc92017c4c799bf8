#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace sluice::ui {

/// A file of the dashboard, embedded in the binary.
struct Asset {
  std::string_view name;          ///< "app.js"
  std::string_view content_type;  ///< With the charset.
  std::string_view entity_tag;    ///< With its quotes; weak, since it is that of every encoding.
  std::string_view gzip;          ///< The content, compressed.
  std::size_t size = 0;           ///< Of the content itself.
};

/// The page, which names the others.
inline constexpr std::string_view kIndexName = "index.html";

/// Returns all files.
[[nodiscard]] std::span<const Asset> Assets();
/// Returns a hash of all files. It is part of the URLs of all but the page, so that browsers may
/// keep those for ever.
[[nodiscard]] std::string_view AssetBundle();
/// Null: there is no such file.
[[nodiscard]] const Asset* FindAsset(std::string_view name);

}  // namespace sluice::ui
