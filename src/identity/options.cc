#include "identity/options.h"

#include <array>
#include <utility>

namespace sluice::identity {
namespace {

struct Form {
  std::string_view name;
  Source::Kind kind;
  bool has_name;
};
constexpr std::array<Form, 5> kForms = {{{"header", Source::Kind::kHeader, true},
                                         {"bearer", Source::Kind::kBearer, false},
                                         {"query", Source::Kind::kQuery, true},
                                         {"cookie", Source::Kind::kCookie, true},
                                         {"jwt", Source::Kind::kJwt, false}}};

}  // namespace

Result<Source> ParseSource(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view name =
      colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
  for (const Form& form : kForms) {
    if (text.substr(0, colon) != form.name) continue;
    if (form.has_name == !name.empty() && form.has_name == (colon != std::string_view::npos)) {
      return Source{.kind = form.kind, .name = std::string(name)};
    }
  }
  return Error{ErrorCode::kInvalidOptions,
               "\"" + std::string(text) +
                   "\" is no source of keys; there is header:<name>, bearer, query:<name>, "
                   "cookie:<name> and jwt"};
}

std::string Describe(const Source& source) {
  for (const Form& form : kForms) {
    if (form.kind != source.kind) continue;
    return std::string(form.name) + (form.has_name ? ":" + source.name : "");
  }
  return {};
}

std::vector<std::string> IdentityOptions::Files() const {
  std::vector<std::string> files = jwt.key_files;
  for (const std::string& path : {jwt.secret_file, hash_secret_file}) {
    if (!path.empty()) files.push_back(path);
  }
  return files;
}

}  // namespace sluice::identity
