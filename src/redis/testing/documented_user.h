#pragma once

#include <cstddef>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::redis::testing {

/// The user of docs/redis.md: the words after the first "ACL SETUSER sluice" of the document, or
/// after a later one, with `password` in place of the document's. Empty if the document has no such
/// block.
///
/// Needs the definition SLUICE_REDIS_DOCUMENT, the document's path.
inline std::vector<std::string> DocumentedUser(std::string_view password, std::size_t index = 0) {
  constexpr std::string_view kIndent = "    ";
  constexpr std::string_view kBegin = "    ACL SETUSER sluice ";
  std::ifstream document(SLUICE_REDIS_DOCUMENT);
  std::string block;
  for (std::string line; std::getline(document, line);) {
    if (line.starts_with(kBegin)) {
      if (index-- > 0) continue;
      block = line.substr(kBegin.size()) + " ";
    } else if (!block.empty()) {
      if (!line.starts_with(kIndent)) break;
      block += line + " ";
    }
  }
  std::vector<std::string> words;
  std::string word;
  for (const char letter : block) {
    if (letter != ' ') {
      word += letter;
    } else if (!word.empty()) {
      if (word == ">PASSWORD") word.replace(1, std::string::npos, password);
      words.push_back(word);
      word.clear();
    }
  }
  return words;
}

/// Words as one line, without one of them.
inline std::string Join(const std::vector<std::string>& words, std::string_view without = {}) {
  std::string line;
  for (const std::string& word : words) {
    if (word != without) line.append(" ").append(word);
  }
  return line;
}

}  // namespace sluice::redis::testing
