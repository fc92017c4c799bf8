#include "ui/assets.h"

namespace sluice::ui {

const Asset* FindAsset(std::string_view name) {
  for (const Asset& asset : Assets()) {
    if (asset.name == name) return &asset;
  }
  return nullptr;
}

}  // namespace sluice::ui
