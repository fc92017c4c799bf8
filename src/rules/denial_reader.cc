#include "rules/denial_reader.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "rules/field_names.h"
#include "rules/mapping.h"

namespace sluice::rules {
namespace {

constexpr std::size_t kMaxBodyBytes = 65536;
constexpr std::size_t kMaxHeaders = 32;
constexpr std::size_t kMaxHeaderBytes = 4096;
constexpr std::string_view kUsualContentType = "text/plain; charset=utf-8";

// These say where an answer ends, or are said by the answer itself.
constexpr std::array<std::string_view, 8> kNotYours = {
    "connection",  "content-length",    "content-type", "date",
    "retry-after", "transfer-encoding", "trailer",      "upgrade"};

// About limits, and for proxies: only we know what is true.
constexpr std::array<std::string_view, 3> kNotYoursFrom = {"ratelimit", "x-ratelimit", "x-sluice-"};

bool IsOurs(std::string_view header) {
  const auto is_it = [header](std::string_view name) { return IsSameWord(name, header); };
  const auto begins_so = [header](std::string_view start) {
    return IsSameWord(start, header.substr(0, start.size()));
  };
  return std::any_of(kNotYours.begin(), kNotYours.end(), is_it) ||
         std::any_of(kNotYoursFrom.begin(), kNotYoursFrom.end(), begins_so);
}

bool IsNameByte(char c) {
  const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return is_letter || (c >= '0' && c <= '9') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool IsHeaderValue(std::string_view text) {
  return text.size() <= kMaxHeaderBytes && std::none_of(text.begin(), text.end(), [](char c) {
           return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
         });
}

class DenialReader {
 public:
  DenialReader(Reading& reading, const Field& field)
      : reading_(reading), mapping_(reading, field, DenialFields()) {}

  Denial Read() {
    if (!mapping_.ok()) return {};
    if (const Field status = mapping_["status"]) {
      denial_.status = static_cast<int>(reading_.Whole(status, 400, 599).value_or(0));
    }
    ReadBody();
    if (const Field headers = mapping_["headers"]) ReadHeaders(headers);
    return std::move(denial_);
  }

 private:
  void ReadBody() {
    const Field body = mapping_["body"];
    const Field type = mapping_["content_type"];
    if (body) {
      denial_.body = reading_.Text(body, "a text").value_or("");
      denial_.content_type = kUsualContentType;
      if (denial_.body->size() > kMaxBodyBytes) {
        reading_.Wrong(body, "is longer than " + std::to_string(kMaxBodyBytes) + " bytes");
      }
    }
    if (!type) return;
    if (!body) reading_.WrongName(type, "is of no use without a `body`");
    denial_.content_type = ReadValue(type, "a type such as text/html");
  }

  std::string ReadValue(const Field& field, std::string_view expected) {
    const std::string value(reading_.Text(field, expected).value_or(""));
    if (!IsHeaderValue(value)) {
      reading_.Wrong(field, "is no value of a header: it has control characters, or more than " +
                                std::to_string(kMaxHeaderBytes) + " bytes");
    }
    return value;
  }

  void ReadHeaders(const Field& field) {
    const auto entries = reading_.Entries(field, "names of headers and their values");
    if (entries.size() > kMaxHeaders) {
      reading_.Wrong(field, "has more than " + std::to_string(kMaxHeaders) + " headers");
    }
    for (const Field& entry : entries) {
      if (entry.name.empty() || !std::all_of(entry.name.begin(), entry.name.end(), IsNameByte)) {
        reading_.WrongName(entry, "is no name of a header");
      } else if (IsOurs(entry.name)) {
        reading_.WrongName(entry, "is a header that the server sets itself");
      }
      denial_.headers.emplace_back(entry.name, ReadValue(entry, "the value of a header"));
    }
  }

  Reading& reading_;
  Mapping mapping_;
  Denial denial_;
};

}  // namespace

Denial ReadDenial(Reading& reading, const Field& field) {
  return DenialReader(reading, field).Read();
}

}  // namespace sluice::rules
