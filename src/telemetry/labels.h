#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <sluice/limit.h>

namespace sluice::telemetry {

// What series are told apart by. Each enum has as many members as it has names: the number of
// series does not depend on what clients send.

enum class Protocol : std::uint8_t { kHttp, kResp, kGrpc };

/// What became of a call.
enum class CallOutcome : std::uint8_t {
  kAllowed,
  kDenied,
  kUnlimited,    ///< No rule met it, and so it passed.
  kBypassed,     ///< On the allow list.
  kBlocked,      ///< On the deny list, or denied because no rule met it.
  kInvalid,      ///< The caller's mistake: nothing was judged.
  kUnavailable,  ///< The store failed, and the rule says to deny then.
};

/// Whether a limit let a call pass.
enum class Allowed : std::uint8_t { kNo, kYes };

enum class List : std::uint8_t { kAllow, kDeny };

/// What answered in place of a store that failed.
enum class FailureMode : std::uint8_t { kOpen, kClosed, kLocal };

enum class StoreError : std::uint8_t { kUnavailable, kTimeout, kError, kForeignValue, kFull };

/// Why a connection was not accepted.
enum class Refusal : std::uint8_t {
  kMaxConnections,
  kMaxPerAddress,
  kNoDescriptors,  ///< The process had no file descriptor left.
  kDraining,
};

/// What a client that was accepted had too much of.
enum class Bound : std::uint8_t {
  kIdle,
  kSlowRequest,
  kHeaderSize,
  kBodySize,
  kPipeline,
  kOutputBuffer,
};

/// What an HTTP/2 client did too much of.
enum class Http2Abuse : std::uint8_t {
  kResets,
  kPings,
  kSettings,
  kWindowUpdates,
  kEmptyData,
  kPriorities,
  kContinuations,
  kHeaders,
  kSlowReader,
};

/// How a TLS handshake went.
enum class TlsHandshake : std::uint8_t {
  kDone,
  kResumed,        ///< Done in short: the client had been here before.
  kNotTls,         ///< The client does not speak it.
  kNothingShared,  ///< No version, cipher or ALPN protocol that both would speak.
  kNoCertificate,  ///< The client showed none, and had to.
  kBadCertificate,
  kRefused,    ///< By the client; most don't trust our certificate.
  kBroken,     ///< Against the protocol.
  kTimeout,    ///< The client took too long.
  kAbandoned,  ///< The client went away, or the server ended.
};

enum class Enforcement : std::uint8_t { kOn, kShadow, kOff };

/// The names of an enum's members, in their order: the values of the label.
template <typename Enum>
inline constexpr std::array<std::string_view, 0> kLabels{};

template <>
inline constexpr std::array<std::string_view, 3> kLabels<Protocol>{"http", "resp", "grpc"};
template <>
inline constexpr std::array<std::string_view, 7> kLabels<CallOutcome>{
    "allowed", "denied", "unlimited", "bypassed", "blocked", "invalid", "unavailable"};
template <>
inline constexpr std::array<std::string_view, 2> kLabels<Allowed>{"false", "true"};
template <>
inline constexpr std::array<std::string_view, 2> kLabels<List>{"allow", "deny"};
template <>
inline constexpr std::array<std::string_view, 3> kLabels<FailureMode>{"open", "closed", "local"};
template <>
inline constexpr std::array<std::string_view, 5> kLabels<StoreError>{
    "unavailable", "timeout", "error", "foreign_value", "full"};
template <>
inline constexpr std::array<std::string_view, 4> kLabels<Refusal>{
    "max_connections", "max_per_address", "no_descriptors", "draining"};
template <>
inline constexpr std::array<std::string_view, 6> kLabels<Bound>{
    "idle", "slow_request", "header_size", "body_size", "pipeline", "output_buffer"};
template <>
inline constexpr std::array<std::string_view, 9> kLabels<Http2Abuse>{
    "resets",     "pings",         "settings", "window_updates", "empty_data",
    "priorities", "continuations", "headers",  "slow_reader"};
template <>
inline constexpr std::array<std::string_view, 10> kLabels<TlsHandshake>{
    "done",    "resumed", "not_tls", "nothing_shared", "no_certificate", "bad_certificate",
    "refused", "broken",  "timeout", "abandoned"};
template <>
inline constexpr std::array<std::string_view, 3> kLabels<Enforcement>{"on", "shadow", "off"};
/// As AlgorithmName has them, which lives in a room that this one does not look into.
template <>
inline constexpr std::array<std::string_view, 6> kLabels<Algorithm>{
    "token_bucket",       "leaky_bucket",           "fixed_window",
    "sliding_window_log", "sliding_window_counter", "concurrency"};

template <typename Enum>
constexpr std::string_view LabelOf(Enum member) {
  return kLabels<Enum>[static_cast<std::size_t>(member)];
}

/// One value for each member of an enum.
template <typename Enum, typename Value>
struct By {
  static constexpr std::size_t kSize = kLabels<Enum>.size();
  static_assert(kSize > 0, "an enum without names");

  std::array<Value, kSize> values{};

  Value& operator[](Enum member) { return values[static_cast<std::size_t>(member)]; }
  const Value& operator[](Enum member) const { return values[static_cast<std::size_t>(member)]; }
};

}  // namespace sluice::telemetry
