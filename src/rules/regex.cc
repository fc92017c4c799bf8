#include "rules/regex.h"

#include <algorithm>
#include <utility>

#include <re2/re2.h>

namespace sluice::rules {
namespace {

re2::RE2::Options OptionsFor(std::string_view text) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_dot_nl(true);
  options.set_never_capture(true);
  if (ReadsBytes(text)) options.set_encoding(re2::RE2::Options::EncodingLatin1);
  return options;
}

re2::StringPiece Piece(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

bool ReadsBytes(std::string_view text) {
  if (!std::all_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x80; })) {
    return false;
  }
  // Classes and numbers of Unicode want characters.
  for (const std::string_view unicode : {"\\p", "\\P", "\\x{"}) {
    if (text.find(unicode) != std::string_view::npos) return false;
  }
  return true;
}

std::optional<std::string> RegexProblem(std::string_view text) {
  std::size_t size = 0;
  return RegexProblem(text, size);
}

std::optional<std::string> RegexProblem(std::string_view text, std::size_t& size) {
  const re2::RE2 compiled(Piece(text), OptionsFor(text));
  if (!compiled.ok()) return compiled.error();
  size += static_cast<std::size_t>(compiled.ProgramSize());
  return std::nullopt;
}

std::optional<Regex> Regex::Compile(std::string_view text) {
  auto compiled = std::make_unique<re2::RE2>(Piece(text), OptionsFor(text));
  if (!compiled->ok()) return std::nullopt;
  return Regex(std::move(compiled));
}

Regex::Regex(std::unique_ptr<re2::RE2> compiled) : compiled_(std::move(compiled)) {}
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

bool Regex::Matches(std::string_view value) const {
  return compiled_->Match(Piece(value), 0, value.size(), re2::RE2::UNANCHORED, nullptr, 0);
}

}  // namespace sluice::rules
