#include "identity/options.h"

#include <array>
#include <utility>

namespace sluice::identity {
namespace {

using Kind = Source::Kind;

struct Form {
  std::string_view name;
  Kind kind;
  bool has_name;
};
constexpr std::array<Form, 5> kForms = {{{"header", Kind::kHeader, true},
                                         {"bearer", Kind::kBearer, false},
                                         {"query", Kind::kQuery, true},
                                         {"cookie", Kind::kCookie, true},
                                         {"jwt", Kind::kJwt, false}}};

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

}  // namespace sluice::identity
