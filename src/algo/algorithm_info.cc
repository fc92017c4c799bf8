#include "algo/algorithm_info.h"

#include "base/ascii.h"

namespace sluice::algo {

std::optional<Algorithm> FindAlgorithm(std::string_view name) {
  for (std::size_t i = 0; i < kAlgorithms.size(); ++i) {
    const std::string_view alias = kAlgorithms[i].alias;
    if (EqualIgnoringCase(kAlgorithmNames[i], name) ||
        (!alias.empty() && EqualIgnoringCase(alias, name))) {
      return static_cast<Algorithm>(i);
    }
  }
  return std::nullopt;
}

std::vector<std::pair<std::string_view, Algorithm>> AlgorithmWords(bool slots) {
  std::vector<std::pair<std::string_view, Algorithm>> words;
  for (const bool aliases : {false, true}) {
    for (std::size_t i = 0; i < kAlgorithms.size(); ++i) {
      const auto algorithm = static_cast<Algorithm>(i);
      const std::string_view word = aliases ? kAlgorithms[i].alias : kAlgorithmNames[i];
      if (!word.empty() && (slots || !HasSlots(algorithm))) words.emplace_back(word, algorithm);
    }
  }
  return words;
}

}  // namespace sluice::algo
