#include "rules/denial_reader.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/ascii.h"
#include "config_text/mapping.h"
#include "rules/field_names.h"

namespace sluice::rules {
namespace {

constexpr std::size_t kMaxBodyBytes = 65536;
constexpr std::size_t kMaxHeaders = 32;
constexpr std::size_t kMaxHeaderBytes = 4096;
constexpr std::string_view kUsualContentType = "text/plain; charset=utf-8";

// Headers that frame the response, or are set by it.
constexpr std::array<std::string_view, 8> kNotYours = {
    "connection",  "content-length",    "content-type", "date",
    "retry-after", "transfer-encoding", "trailer",      "upgrade"};

// Headers about limits and for proxies, which are set by the server only.
constexpr std::array<std::string_view, 3> kNotYoursFrom = {"ratelimit", "x-ratelimit", "x-sluice-"};

bool IsOurs(std::string_view header) {
  const auto is_it = [header](std::string_view name) { return EqualIgnoringCase(name, header); };
  const auto begins_so = [header](std::string_view start) {
    return EqualIgnoringCase(start, header.substr(0, start.size()));
  };
  return std::any_of(kNotYours.begin(), kNotYours.end(), is_it) ||
         std::any_of(kNotYoursFrom.begin(), kNotYoursFrom.end(), begins_so);
}

bool IsNameByte(char c) {
  return IsLetter(c) || IsDigit(c) ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool IsHeaderValue(std::string_view text) {
  return text.size() <= kMaxHeaderBytes && std::none_of(text.begin(), text.end(), IsControl);
}

class DenialReader {
 public:
  DenialReader(config_text::Reading& reading, const config_text::Field& field)
      : reading_(reading), mapping_(reading, field, DenialFields()) {}

  Denial Read() {
    if (!mapping_.ok()) return {};
    if (const config_text::Field status = mapping_["status"]) {
      denial_.status = static_cast<int>(reading_.Whole(status, 400, 599).value_or(0));
    }
    ReadBody();
    if (const config_text::Field headers = mapping_["headers"]) ReadHeaders(headers);
    return std::move(denial_);
  }

 private:
  void ReadBody() {
    const config_text::Field body = mapping_["body"];
    const config_text::Field type = mapping_["content_type"];
    if (body) {
      denial_.body = reading_.Text(body, "a text").value_or("");
      denial_.content_type = kUsualContentType;
      if (denial_.body->size() > kMaxBodyBytes) {
        reading_.AddError(body, "is longer than " + std::to_string(kMaxBodyBytes) + " bytes");
      }
    }
    if (!type) return;
    if (!body) reading_.AddNameError(type, "is of no use without a `body`");
    denial_.content_type = ReadValue(type, "a type such as text/html");
  }

  std::string ReadValue(const config_text::Field& field, std::string_view expected) {
    const std::string value(reading_.Text(field, expected).value_or(""));
    if (!IsHeaderValue(value)) {
      reading_.AddError(field, "is no value of a header: it has control characters, or more than " +
                                   std::to_string(kMaxHeaderBytes) + " bytes");
    }
    return value;
  }

  void ReadHeaders(const config_text::Field& field) {
    const auto entries = reading_.Entries(field, "names of headers and their values");
    if (entries.size() > kMaxHeaders) {
      reading_.AddError(field, "has more than " + std::to_string(kMaxHeaders) + " headers");
    }
    for (const config_text::Field& entry : entries) {
      if (entry.name.empty() || !std::all_of(entry.name.begin(), entry.name.end(), IsNameByte)) {
        reading_.AddNameError(entry, "is no name of a header");
      } else if (IsOurs(entry.name)) {
        reading_.AddNameError(entry, "is a header that the server sets itself");
      }
      denial_.headers.emplace_back(entry.name, ReadValue(entry, "the value of a header"));
    }
  }

  config_text::Reading& reading_;
  config_text::Mapping mapping_;
  Denial denial_;
};

}  // namespace

Denial ReadDenial(config_text::Reading& reading, const config_text::Field& field) {
  return DenialReader(reading, field).Read();
}

}  // namespace sluice::rules
