#include "api/receipt_text.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/random.h"

namespace sluice::api {
namespace {

constexpr char kFormat = 1;
constexpr std::uint64_t kMeasured = 1;
constexpr std::uint64_t kLeased = 2;
constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

const std::string& SecretOfThisProcess() {
  static const std::string secret = [] {
    std::array<std::byte, 32> bytes;
    FillRandom(bytes);
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }();
  return secret;
}

void AppendBase64(std::string_view bytes, std::string& out) {
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (held += 8; held >= 6; held -= 6) out += kAlphabet[bits >> (held - 6) & 63];
  }
  if (held > 0) out += kAlphabet[bits << (6 - held) & 63];
}

std::optional<std::string> DecodeBase64(std::string_view text) {
  std::string bytes;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    const std::size_t value = kAlphabet.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    held += 6;
    if (held >= 8) {
      held -= 8;
      bytes += static_cast<char>(bits >> held & 255);
    }
  }
  return bytes;
}

void AppendNumber(std::uint64_t number, std::string& out) {
  while (number >= 128) {
    out += static_cast<char>(number | 128);
    number >>= 7;
  }
  out += static_cast<char>(number);
}

void AppendText(std::string_view text, std::string& out) {
  AppendNumber(text.size(), out);
  out += text;
}

// Takes numbers and texts from the front; all are zero or empty once something is missing.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : rest_(bytes) {}

  std::uint64_t Number() {
    std::uint64_t number = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) break;
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      number |= std::uint64_t{byte & 127U} << shift;
      if (byte < 128) return number;
    }
    failed_ = true;
    return 0;
  }
  std::int64_t Signed() { return static_cast<std::int64_t>(Number()); }
  std::string Text() {
    const std::uint64_t size = Number();
    if (failed_ || size > rest_.size()) {
      failed_ = true;
      return {};
    }
    std::string text(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return text;
  }
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  bool failed_ = false;
};

// A limit is only made from what it is specified by, so its numbers are brought into that form.
std::optional<Limit> Remake(const LimitNumbers& numbers) {
  const auto made = [&]() -> Result<Limit> {
    const Rate rate{numbers.rate_num, numbers.rate_den * numbers.interval};
    const SlidingWindowSpec window{.limit = numbers.cap, .window = numbers.window};
    switch (numbers.algorithm) {
      case Algorithm::kTokenBucket:
        return Limit::TokenBucket(
            {.capacity = numbers.cap,
             .refill = rate,
             .refill_interval = numbers.interval == Micros{1} ? Micros{0} : numbers.interval});
      case Algorithm::kLeakyBucket:
        return Limit::LeakyBucket({.capacity = numbers.cap, .leak = rate});
      case Algorithm::kFixedWindow:
        return Limit::FixedWindow(
            {.limit = numbers.cap, .window = numbers.window, .anchor = numbers.anchor});
      case Algorithm::kSlidingWindowLog:
        return Limit::SlidingWindowLog(window);
      case Algorithm::kSlidingWindowCounter:
        return Limit::SlidingWindowCounter(window);
      case Algorithm::kConcurrency:
        return Limit::Concurrency({.limit = numbers.cap, .time_to_live = numbers.window});
    }
    return Error{ErrorCode::kInvalidLimit, ""};
  }();
  if (!made || made->numbers() != numbers) return std::nullopt;
  return *made;
}

// The product in Remake must not overflow.
bool CanBeRemade(const LimitNumbers& numbers) {
  return numbers.rate_den >= 0 && numbers.interval > Micros{0} && numbers.interval <= kMaxWindow &&
         numbers.rate_den <= kMaxWindow.count() / numbers.interval.count();
}

std::optional<LimitNumbers> ReadNumbers(Cursor& cursor) {
  const std::uint64_t algorithm = cursor.Number();
  const std::uint64_t anchor = cursor.Number();
  if (algorithm > static_cast<std::uint64_t>(Algorithm::kConcurrency) ||
      anchor > static_cast<std::uint64_t>(Anchor::kYear)) {
    return std::nullopt;
  }
  LimitNumbers numbers;
  numbers.algorithm = static_cast<Algorithm>(algorithm);
  numbers.anchor = static_cast<Anchor>(anchor);
  numbers.cap = cursor.Signed();
  numbers.rate_num = cursor.Signed();
  numbers.rate_den = cursor.Signed();
  numbers.interval = Micros{cursor.Signed()};
  numbers.window = Micros{cursor.Signed()};
  if (cursor.failed() || !CanBeRemade(numbers)) return std::nullopt;
  return numbers;
}

}  // namespace

ReceiptSigner::ReceiptSigner(std::string_view secret)
    : secret_(secret.empty() ? SecretOfThisProcess() : secret) {}

void ReceiptSigner::Begin(WallTime now) {
  bytes_.assign(1, kFormat);
  AppendNumber(static_cast<std::uint64_t>(now.time_since_epoch().count()), bytes_);
  count_ = 0;
}

bool ReceiptSigner::Add(const Key& key, const Limit& limit, const Receipt& receipt, Facts facts) {
  const LimitNumbers& numbers = limit.numbers();
  if (!CanBeRemade(numbers)) return false;
  AppendText(key.scope, bytes_);
  AppendText(key.tag, bytes_);
  AppendText(key.rest, bytes_);
  for (const std::int64_t number :
       {static_cast<std::int64_t>(numbers.algorithm), static_cast<std::int64_t>(numbers.anchor),
        numbers.cap, numbers.rate_num, numbers.rate_den, numbers.interval.count(),
        numbers.window.count(), receipt.amount, receipt.from_grant,
        receipt.at.time_since_epoch().count()}) {
    AppendNumber(static_cast<std::uint64_t>(number), bytes_);
  }
  AppendNumber(receipt.slot, bytes_);
  AppendNumber((facts.measured ? kMeasured : 0) | (facts.leased ? kLeased : 0), bytes_);
  ++count_;
  return true;
}

void ReceiptSigner::Finish(std::string& out) {
  bytes_ += TagOf(bytes_);
  AppendBase64(bytes_, out);
}

std::string ReceiptSigner::TagOf(std::string_view bytes) const {
  std::array<unsigned char, EVP_MAX_MD_SIZE> whole;
  unsigned size = 0;
  HMAC(EVP_sha256(), secret_.data(), static_cast<int>(secret_.size()),
       reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), whole.data(), &size);
  return {reinterpret_cast<const char*>(whole.data()), kTagBytes};
}

std::optional<std::vector<TakenLimit>> ReceiptSigner::Read(std::string_view text,
                                                           WallTime now) const {
  const std::optional<std::string> decoded = DecodeBase64(text);
  if (!decoded || decoded->size() <= kTagBytes) return std::nullopt;
  const std::string_view bytes = std::string_view(*decoded).substr(0, decoded->size() - kTagBytes);
  const std::string tag = TagOf(bytes);
  if (CRYPTO_memcmp(tag.data(), decoded->data() + bytes.size(), kTagBytes) != 0) {
    return std::nullopt;
  }
  if (bytes.front() != kFormat) return std::nullopt;
  Cursor cursor(bytes.substr(1));
  const WallTime given{Micros{cursor.Signed()}};
  if (now - given > kGoodFor) return std::nullopt;
  std::vector<TakenLimit> taken;
  while (!cursor.at_end()) {
    std::string scope = cursor.Text();
    std::string tag_text = cursor.Text();
    std::string rest = cursor.Text();
    const std::optional<LimitNumbers> numbers = ReadNumbers(cursor);
    if (!numbers) return std::nullopt;
    std::optional<Limit> limit = Remake(*numbers);
    Receipt receipt{.amount = cursor.Signed(), .from_grant = cursor.Signed()};
    receipt.at = WallTime{Micros{cursor.Signed()}};
    receipt.slot = cursor.Number();
    const std::uint64_t facts = cursor.Number();
    if (cursor.failed() || !limit || taken.size() == kMaxLimitsPerCall) return std::nullopt;
    taken.push_back({.scope = std::move(scope),
                     .tag = std::move(tag_text),
                     .rest = std::move(rest),
                     .limit = *limit,
                     .receipt = receipt,
                     .measured = (facts & kMeasured) != 0,
                     .leased = (facts & kLeased) != 0});
  }
  return taken;
}

bool SettledBy(const std::vector<TakenLimit>& taken, const TakenLimit& limit) {
  if (limit.limit.algorithm() == Algorithm::kConcurrency) return false;
  return limit.measured || std::none_of(taken.begin(), taken.end(),
                                        [](const TakenLimit& one) { return one.measured; });
}

}  // namespace sluice::api
