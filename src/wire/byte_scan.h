#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <string_view>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

// Byte classes of HTTP requests, and scans for the end of a run: 16 bytes at a time with SSE2,
// never reading beyond the end.

namespace sluice::wire {

namespace byte_scan {

constexpr std::array<bool, 256> Letters(std::string_view others) {
  std::array<bool, 256> members{};
  for (unsigned c = 'a'; c <= 'z'; ++c) members[c] = members[c - 0x20] = true;
  for (unsigned c = '0'; c <= '9'; ++c) members[c] = true;
  for (const char c : others) members[static_cast<unsigned char>(c)] = true;
  return members;
}

inline constexpr std::array<bool, 256> kToken = Letters("!#$%&'*+-.^_`|~");
inline constexpr std::array<bool, 256> kHost = Letters("-._~!$&'()*+,;=:[]%");

}  // namespace byte_scan

/// Bytes of methods and header names.
constexpr bool IsTokenByte(char c) { return byte_scan::kToken[static_cast<unsigned char>(c)]; }

/// Bytes of a host with its port.
constexpr bool IsHostByte(char c) { return byte_scan::kHost[static_cast<unsigned char>(c)]; }

/// Visible ASCII without '?' and '#'.
constexpr bool IsTargetByte(char c) { return c > ' ' && c < 0x7F && c != '?' && c != '#'; }

/// No control byte but the tab.
constexpr bool IsValueByte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte >= ' ' && byte != 0x7F) || byte == '\t';
}

/// Returns the first byte that is not part of a token, or `end`.
inline const char* SkipToken(const char* at, const char* end) {
  while (at < end && IsTokenByte(*at)) ++at;
  return at;
}

/// Returns whether the text is a token, as names of headers are.
inline bool IsToken(std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
#ifdef __SSE2__
  while (end - at >= 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const auto between = [](__m128i these, char first, char last) {
      return _mm_and_si128(_mm_cmpgt_epi8(these, _mm_set1_epi8(static_cast<char>(first - 1))),
                           _mm_cmplt_epi8(these, _mm_set1_epi8(static_cast<char>(last + 1))));
    };
    const __m128i usual = _mm_or_si128(
        between(_mm_or_si128(bytes, _mm_set1_epi8(0x20)), 'a', 'z'),
        _mm_or_si128(between(bytes, '0', '9'), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('-'))));
    if (_mm_movemask_epi8(usual) != 0xFFFF) break;
    at += 16;
  }
#endif
  return !text.empty() && SkipToken(at, end) == end;
}

/// Returns the first byte that is not part of a target, or `end`.
inline const char* SkipTarget(const char* at, const char* end) {
#ifdef __SSE2__
  while (end - at >= 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    // Bytes from 0x80 on are negative here.
    const __m128i low = _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x21));
    const __m128i others = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('?')),
                                        _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('#')),
                                                     _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x7F))));
    const auto stops = static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(low, others)));
    if (stops != 0) return at + std::countr_zero(stops);
    at += 16;
  }
#endif
  while (at < end && IsTargetByte(*at)) ++at;
  return at;
}

/// Returns the first byte that is not part of a header value, or `end`.
inline const char* SkipValue(const char* at, const char* end) {
#ifdef __SSE2__
  while (end - at >= 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1F)), bytes);
    const __m128i bad =
        _mm_or_si128(_mm_andnot_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\t')), low),
                     _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x7F)));
    const auto stops = static_cast<unsigned>(_mm_movemask_epi8(bad));
    if (stops != 0) return at + std::countr_zero(stops);
    at += 16;
  }
#endif
  while (at < end && IsValueByte(*at)) ++at;
  return at;
}

}  // namespace sluice::wire
