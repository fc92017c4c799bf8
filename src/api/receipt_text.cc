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
// With quantities: they follow the id. Older servers refuse it.
constexpr char kFormatWithQuantities = 3;
constexpr std::uint64_t kMeasured = 1;
constexpr std::uint64_t kGrantExpires = 2;  // One more number follows.
constexpr std::uint64_t kShadow = 4;
constexpr std::uint64_t kScaled = 8;     // One more number follows.
constexpr std::uint64_t kCounting = 16;  // A count follows.

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

// Numbers that were signed are right, but not those of another version.
constexpr std::uint64_t kMaxListed = 1024;

std::string ReadQuantityName(Cursor& cursor, const std::vector<OwnedQuantity>& used) {
  const std::uint64_t index = cursor.Number();
  if (index == 0) return cursor.Text();
  return index <= used.size() ? used[index - 1].name : std::string();
}

rules::Count ReadCount(Cursor& cursor, const std::vector<OwnedQuantity>& used) {
  rules::Count count;
  const std::uint64_t head = cursor.Number();
  count.is_price = (head & 1) != 0;
  for (std::uint64_t tiers = std::min(head / 2, kMaxListed); tiers > 0 && !cursor.failed();
       --tiers) {
    rules::CountTier& tier = count.tiers.emplace_back();
    tier.above = cursor.Signed();
    for (std::uint64_t left = std::min(cursor.Number(), kMaxListed); left > 0 && !cursor.failed();
         --left) {
      rules::Weight& weight = tier.weights.emplace_back();
      weight.quantity = ReadQuantityName(cursor, used);
      const std::uint64_t number = cursor.Number();
      weight.weight = static_cast<std::int64_t>(number / 2);
      weight.is_required = (number & 1) != 0;
    }
  }
  return count;
}

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

void ReceiptSigner::BeginAt(char format, WallTime expires, std::uint64_t first_id) {
  bytes_.assign(1, format);
  AppendNumber(static_cast<std::uint64_t>(expires.time_since_epoch().count()), bytes_);
  // The limits of a call have the ids from here on.
  AppendId(first_id, bytes_);
  is_by_quantity_ = format == kFormatWithQuantities;
  used_.clear();
  count_ = 0;
}

void ReceiptSigner::Begin(WallTime now) {
  next_id_ += kMaxLimitsPerCall;
  BeginAt(kFormat, now + lifetime_, next_id_);
}

void ReceiptSigner::Begin(WallTime now, std::span<const UsedQuantity> used) {
  next_id_ += kMaxLimitsPerCall;
  BeginAt(kFormatWithQuantities, now + lifetime_, next_id_);
  AppendQuantities(used);
}

void ReceiptSigner::AppendQuantities(std::span<const UsedQuantity> used) {
  used_.assign(used.begin(), used.end());
  AppendNumber(used_.size(), bytes_);
  for (const UsedQuantity& quantity : used_) {
    AppendText(quantity.name, bytes_);
    AppendNumber(static_cast<std::uint64_t>(quantity.amount), bytes_);
  }
}

// Names that the check used are numbers.
void ReceiptSigner::AppendCount(const rules::Count& count) {
  AppendNumber(2 * count.tiers.size() + (count.is_price ? 1 : 0), bytes_);
  for (const rules::CountTier& tier : count.tiers) {
    AppendNumber(static_cast<std::uint64_t>(tier.above), bytes_);
    AppendNumber(tier.weights.size(), bytes_);
    for (const rules::Weight& weight : tier.weights) {
      const auto found = std::find_if(used_.begin(), used_.end(), [&](const UsedQuantity& used) {
        return used.name == weight.quantity;
      });
      if (found != used_.end()) {
        AppendNumber(static_cast<std::uint64_t>(found - used_.begin()) + 1, bytes_);
      } else {
        AppendNumber(0, bytes_);
        AppendText(weight.quantity, bytes_);
      }
      AppendNumber(2 * static_cast<std::uint64_t>(weight.weight) + (weight.is_required ? 1 : 0),
                   bytes_);
    }
  }
}

void ReceiptSigner::Append(const ReceiptContents& contents, std::string& out) {
  BeginAt(contents.is_by_quantity ? kFormatWithQuantities : kFormat, contents.expires,
          contents.first_id);
  std::vector<UsedQuantity> used;
  for (const OwnedQuantity& quantity : contents.used) {
    used.push_back({quantity.name, quantity.amount});
  }
  if (contents.is_by_quantity) AppendQuantities(used);
  for (const TakenLimit& taken : contents.taken) {
    Add({.scope = taken.scope, .tag = taken.tag, .rest = taken.rest}, taken.limit, taken.receipt,
        {.measured = taken.measured,
         .max_settlement = taken.max_settlement,
         .scale = taken.scale,
         .shadow = taken.shadow,
         .count = taken.count.tiers.empty() ? nullptr : &taken.count});
  }
  Finish(out);
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
  const bool is_scaled = is_by_quantity_ && facts.scale != 1;
  const bool is_counting = is_by_quantity_ && facts.count != nullptr;
  AppendNumber((facts.measured ? kMeasured : 0) | (expires ? kGrantExpires : 0) |
                   (is_by_quantity_ && facts.shadow ? kShadow : 0) | (is_scaled ? kScaled : 0) |
                   (is_counting ? kCounting : 0),
               bytes_);
  AppendNumber(static_cast<std::uint64_t>(facts.max_settlement), bytes_);
  if (expires) {
    AppendNumber(static_cast<std::uint64_t>(receipt.grant_expires.time_since_epoch().count()),
                 bytes_);
  }
  if (is_scaled) AppendNumber(static_cast<std::uint64_t>(facts.scale), bytes_);
  if (is_counting) AppendCount(*facts.count);
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
  if (bytes.front() != kFormat && bytes.front() != kFormatWithQuantities) return std::nullopt;
  Cursor cursor(bytes.substr(1));
  ReceiptContents contents{.expires = WallTime{Micros{cursor.Signed()}}, .taken = {}};
  std::vector<TakenLimit>& taken = contents.taken;
  contents.first_id = cursor.Id();
  contents.is_by_quantity = bytes.front() == kFormatWithQuantities;
  if (contents.is_by_quantity) {
    for (std::uint64_t left = std::min(cursor.Number(), kMaxListed); left > 0 && !cursor.failed();
         --left) {
      OwnedQuantity& quantity = contents.used.emplace_back();
      quantity.name = cursor.Text();
      quantity.amount = cursor.Signed();
    }
  }
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
    const std::int64_t scale = (facts & kScaled) != 0 ? cursor.Signed() : 1;
    rules::Count count;
    if ((facts & kCounting) != 0) count = ReadCount(cursor, contents.used);
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
                     .scale = scale,
                     .shadow = (facts & kShadow) != 0,
                     .count = std::move(count),
                     .id = contents.first_id + taken.size()});
  }
  return contents;
}

}  // namespace sluice::api
