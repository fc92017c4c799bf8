#include "api/receipt_text.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include "algo/algorithm_info.h"
#include "base/base64url.h"
#include "base/random.h"

namespace sluice::api {
namespace {

constexpr char kFormat = 2;
constexpr std::uint64_t kMeasured = 1;
constexpr std::uint64_t kGrantExpires = 2;  // One more number follows.

const std::string& SecretOfThisProcess() {
  static const std::string secret = [] {
    std::array<std::byte, 32> bytes;
    FillRandom(bytes);
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }();
  return secret;
}

EVP_MAC_CTX* NewMac(std::string_view secret) {
  EVP_MAC* const hmac = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
  EVP_MAC_CTX* const context = EVP_MAC_CTX_new(hmac);
  EVP_MAC_free(hmac);  // The context keeps it.
  std::string digest = "SHA256";
  const std::array parameters{
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0),
      OSSL_PARAM_construct_end()};
  EVP_MAC_init(context, reinterpret_cast<const unsigned char*>(secret.data()), secret.size(),
               parameters.data());
  return context;
}

void AppendNumber(std::uint64_t number, std::string& out) {
  while (number >= 128) {
    out += static_cast<char>(number | 128);
    number >>= 7;
  }
  out += static_cast<char>(number);
}

// Always as long: ids are random.
void AppendId(std::uint64_t id, std::string& out) {
  for (int shift = 0; shift < 64; shift += 8) out += static_cast<char>(id >> shift & 255);
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
  std::uint64_t Id() {
    constexpr std::size_t kBytes = sizeof(std::uint64_t);
    if (rest_.size() < kBytes) {
      failed_ = true;
      return 0;
    }
    std::uint64_t id = 0;
    for (std::size_t i = kBytes; i > 0; --i)
      id = id << 8 | static_cast<unsigned char>(rest_[i - 1]);
    rest_.remove_prefix(kBytes);
    return id;
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

std::optional<LimitNumbers> ReadNumbers(Cursor& cursor) {
  const std::uint64_t algorithm = cursor.Number();
  const std::uint64_t anchor = cursor.Number();
  if (algorithm >= algo::kAlgorithms.size() || anchor > static_cast<std::uint64_t>(Anchor::kYear)) {
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
  if (cursor.failed()) return std::nullopt;
  return numbers;
}

}  // namespace

ReceiptSigner::ReceiptSigner(std::string_view secret, Micros lifetime)
    : mac_(NewMac(secret.empty() ? SecretOfThisProcess() : secret)),
      lifetime_(lifetime),
      next_id_(RandomId()) {}

ReceiptSigner::~ReceiptSigner() = default;

void ReceiptSigner::Free::operator()(evp_mac_ctx_st* context) const { EVP_MAC_CTX_free(context); }

void ReceiptSigner::Begin(WallTime now) {
  bytes_.assign(1, kFormat);
  AppendNumber(static_cast<std::uint64_t>((now + lifetime_).time_since_epoch().count()), bytes_);
  // The limits of a call have the ids from here on.
  next_id_ += kMaxLimitsPerCall;
  AppendId(next_id_, bytes_);
  count_ = 0;
}

void ReceiptSigner::Add(const Key& key, const Limit& limit, const Receipt& receipt, Facts facts) {
  const LimitNumbers& numbers = limit.numbers();
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
  const bool expires = receipt.grant_expires != WallTime{};
  AppendNumber((facts.measured ? kMeasured : 0) | (expires ? kGrantExpires : 0), bytes_);
  AppendNumber(static_cast<std::uint64_t>(facts.max_settlement), bytes_);
  if (expires) {
    AppendNumber(static_cast<std::uint64_t>(receipt.grant_expires.time_since_epoch().count()),
                 bytes_);
  }
  ++count_;
}

void ReceiptSigner::Finish(std::string& out) {
  const Tag tag = TagOf(bytes_);
  bytes_.append(tag.data(), tag.size());
  AppendBase64Url(bytes_, out);
}

ReceiptSigner::Tag ReceiptSigner::TagOf(std::string_view bytes) const {
  std::array<unsigned char, EVP_MAX_MD_SIZE> whole;
  std::size_t size = 0;
  EVP_MAC_init(mac_.get(), nullptr, 0, nullptr);  // With the same key.
  EVP_MAC_update(mac_.get(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  EVP_MAC_final(mac_.get(), whole.data(), &size, whole.size());
  Tag tag;
  std::copy_n(whole.begin(), kTagBytes, tag.begin());
  return tag;
}

std::optional<ReceiptContents> ReceiptSigner::Read(std::string_view text) const {
  std::string decoded;
  if (!DecodeBase64Url(text, decoded) || decoded.size() <= kTagBytes) return std::nullopt;
  const std::string_view bytes = std::string_view(decoded).substr(0, decoded.size() - kTagBytes);
  const Tag tag = TagOf(bytes);
  if (CRYPTO_memcmp(tag.data(), decoded.data() + bytes.size(), kTagBytes) != 0) {
    return std::nullopt;
  }
  if (bytes.front() != kFormat) return std::nullopt;
  Cursor cursor(bytes.substr(1));
  ReceiptContents contents{.expires = WallTime{Micros{cursor.Signed()}}, .taken = {}};
  std::vector<TakenLimit>& taken = contents.taken;
  const std::uint64_t first_id = cursor.Id();
  while (!cursor.at_end()) {
    std::string scope = cursor.Text();
    std::string tag_text = cursor.Text();
    std::string rest = cursor.Text();
    const std::optional<LimitNumbers> numbers = ReadNumbers(cursor);
    if (!numbers) return std::nullopt;
    const Result<Limit> limit = Limit::FromNumbers(*numbers);
    Receipt receipt{.amount = cursor.Signed(), .from_grant = cursor.Signed()};
    receipt.at = WallTime{Micros{cursor.Signed()}};
    receipt.slot = cursor.Number();
    const std::uint64_t facts = cursor.Number();
    const std::int64_t max_settlement = cursor.Signed();
    if ((facts & kGrantExpires) != 0) receipt.grant_expires = WallTime{Micros{cursor.Signed()}};
    if (cursor.failed() || !limit || limit->numbers() != *numbers ||
        taken.size() == kMaxLimitsPerCall)
      return std::nullopt;
    taken.push_back({.scope = std::move(scope),
                     .tag = std::move(tag_text),
                     .rest = std::move(rest),
                     .limit = *limit,
                     .receipt = receipt,
                     .measured = (facts & kMeasured) != 0,
                     .max_settlement = max_settlement,
                     .id = first_id + taken.size()});
  }
  return contents;
}

bool SettledBy(const std::vector<TakenLimit>& taken, const TakenLimit& limit) {
  if (limit.limit.algorithm() == Algorithm::kConcurrency) return false;
  return limit.measured || std::none_of(taken.begin(), taken.end(),
                                        [](const TakenLimit& one) { return one.measured; });
}

}  // namespace sluice::api
