#include "identity/proxy_protocol.h"

#include <algorithm>
#include <span>

#include "base/parse_number.h"

namespace sluice::identity {
namespace {

constexpr std::string_view kSignature("\r\n\r\n\0\r\nQUIT\n", 12);
constexpr std::string_view kLineStart = "PROXY ";
constexpr std::size_t kFixed = 16;  // The signature, version and command, family, length.

enum Family : std::uint8_t { kUnspecified = 0, kIpv4 = 1, kIpv6 = 2, kUnix = 3 };
constexpr std::array<std::size_t, 4> kAddressBytes = {0, 12, 36, 216};

bool IsPortNumber(std::string_view text) {
  return (text.size() == 1 || !text.starts_with('0')) && ParseNumber<std::uint16_t>(text);
}

// The next word of a line whose words are one blank apart.
std::string_view TakeWord(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(word.size() + 1, line.size()));
  return word;
}

}  // namespace

ProxyProtocolReader::Status ProxyProtocolReader::Fail(std::string_view error) {
  error_ = error;
  return Status::kError;
}

bool ProxyProtocolReader::FillTo(std::size_t size, std::string_view& bytes) {
  const std::size_t taken = std::min(size - std::min(size, size_), bytes.size());
  bytes.copy(kept_.data() + size_, taken);
  size_ += taken;
  bytes.remove_prefix(taken);
  return size_ >= size;
}

ProxyProtocolReader::Status ProxyProtocolReader::Read(std::string_view& bytes) {
  if (!error_.empty()) return Status::kError;
  if (bytes.empty()) return Status::kMore;
  const char first = size_ > 0 ? kept_[0] : bytes[0];
  if (first == kLineStart[0]) return ReadLine(bytes);
  if (first == kSignature[0]) return ReadBinary(bytes);
  return Fail("the connection does not begin with the PROXY protocol");
}

ProxyProtocolReader::Status ProxyProtocolReader::ReadLine(std::string_view& bytes) {
  while (!bytes.empty()) {
    if (size_ == kMaxLine) return Fail("the line of the PROXY protocol is too long");
    const char c = bytes[0];
    bytes.remove_prefix(1);
    if (size_ < kLineStart.size() && c != kLineStart[size_]) {
      return Fail("the connection does not begin with the PROXY protocol");
    }
    kept_[size_++] = c;
    if (c != '\n') continue;
    const std::string_view line(kept_.data(), size_);
    if (!line.ends_with("\r\n")) return Fail("the line of the PROXY protocol must end in CRLF");
    return ParseLine(line.substr(kLineStart.size(), line.size() - kLineStart.size() - 2));
  }
  return Status::kMore;
}

ProxyProtocolReader::Status ProxyProtocolReader::ParseLine(std::string_view line) {
  const std::string_view family = TakeWord(line);
  if (family == "UNKNOWN") return Status::kDone;  // Whatever follows is to be ignored.
  if (family != "TCP4" && family != "TCP6") return Fail("the PROXY line has an unknown family");
  const std::string_view from = TakeWord(line);
  const std::string_view to = TakeWord(line);
  const std::string_view from_port = TakeWord(line);
  const bool colons = family == "TCP6";
  for (const std::string_view text : {from, to}) {
    if ((text.find(':') != std::string_view::npos) != colons || !ParseAddress(text)) {
      return Fail("the PROXY line has no such address");
    }
  }
  if (!IsPortNumber(from_port) || !IsPortNumber(line))
    return Fail("the PROXY line has no such port");
  source_ = ParseAddress(from);
  return Status::kDone;
}

ProxyProtocolReader::Status ProxyProtocolReader::ReadBinary(std::string_view& bytes) {
  if (!FillTo(kFixed, bytes)) {
    const std::size_t known = std::min(size_, kSignature.size());
    if (kSignature.starts_with(std::string_view(kept_.data(), known))) return Status::kMore;
    return Fail("the connection does not begin with the PROXY protocol");
  }
  if (!fixed_parsed_ && !ParseFixed()) return Status::kError;
  if (!FillTo(wanted_, bytes)) return Status::kMore;
  const std::size_t passed = std::min(skipped_, bytes.size());
  bytes.remove_prefix(passed);
  skipped_ -= passed;
  return skipped_ > 0 ? Status::kMore : ParseAddresses();
}

bool ProxyProtocolReader::ParseFixed() {
  const auto refuse = [this](std::string_view error) {
    error_ = error;
    return false;
  };
  if (std::string_view(kept_.data(), kSignature.size()) != kSignature) {
    return refuse("the connection does not begin with the PROXY protocol");
  }
  const std::uint8_t command = Byte(12);
  if (command >> 4 != 2) return refuse("this version of the PROXY protocol is not known");
  if ((command & 0xF) > 1) return refuse("the PROXY header has an unknown command");
  const std::uint8_t family = Byte(13) >> 4;
  if (family > kUnix || (Byte(13) & 0xF) > 2) {
    return refuse("the PROXY header has an unknown family");
  }
  const std::size_t length = std::size_t{Byte(14)} << 8 | Byte(15);
  const bool local = (command & 0xF) == 0;
  if (!local && length < kAddressBytes[family]) {
    return refuse("the PROXY header is too short for its addresses");
  }
  // Addresses of other families are skipped.
  const bool has_address = !local && (family == kIpv4 || family == kIpv6);
  const std::size_t kept = has_address ? kAddressBytes[family] : 0;
  wanted_ = kFixed + kept;
  skipped_ = length - kept;
  fixed_parsed_ = true;
  return true;
}

ProxyProtocolReader::Status ProxyProtocolReader::ParseAddresses() {
  if (wanted_ > kFixed) {
    std::array<std::uint8_t, 16> source;
    const std::size_t size = Byte(13) >> 4 == kIpv4 ? 4 : 16;
    for (std::size_t i = 0; i < size; ++i) source[i] = Byte(kFixed + i);
    source_ = AddressOf(std::span(source).first(size));
  }
  return Status::kDone;
}

}  // namespace sluice::identity
