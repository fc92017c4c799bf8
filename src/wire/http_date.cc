#include "wire/http_date.h"

#include <algorithm>

namespace sluice::wire {
namespace {

constexpr std::string_view kDays = "SunMonTueWedThuFriSat";
constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";

void PutTwo(char* to, unsigned number) {
  to[0] = static_cast<char>('0' + number / 10 % 10);
  to[1] = static_cast<char>('0' + number % 10);
}

}  // namespace

void HttpDate::Write(std::chrono::sys_seconds second) {
  second_ = second;
  const auto day = std::chrono::floor<std::chrono::days>(second);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(second - day);
  const auto year = static_cast<unsigned>(static_cast<int>(date.year()));

  constexpr std::string_view kPattern = "Sun, 00 Jan 0000 00:00:00 GMT";
  std::copy_n(kPattern.data(), kPattern.size(), text_.data());
  std::copy_n(kDays.data() + 3UL * std::chrono::weekday(day).c_encoding(), 3, text_.data());
  PutTwo(text_.data() + 5, static_cast<unsigned>(date.day()));
  std::copy_n(kMonths.data() + 3UL * (static_cast<unsigned>(date.month()) - 1), 3,
              text_.data() + 8);
  PutTwo(text_.data() + 12, year / 100);
  PutTwo(text_.data() + 14, year);
  PutTwo(text_.data() + 17, static_cast<unsigned>(time.hours().count()));
  PutTwo(text_.data() + 20, static_cast<unsigned>(time.minutes().count()));
  PutTwo(text_.data() + 23, static_cast<unsigned>(time.seconds().count()));
}

}  // namespace sluice::wire
