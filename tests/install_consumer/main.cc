// What a user of the installed package writes first.

#include <chrono>
#include <cstdio>

#include <sluice/sluice.h>

int main() {
  auto limiter = sluice::Limiter::InMemory();
  auto limit = sluice::Limit::FixedWindow({.limit = 1, .window = std::chrono::hours(24 * 365)});
  if (!limiter || !limit) return 1;

  const sluice::NamedLimit once{"once", *limit};
  const bool first = limiter->Check(once, "alice")->allowed;
  const bool second = limiter->Check(once, "alice")->allowed;
  std::printf("first %s, second %s\n", first ? "allowed" : "denied", second ? "allowed" : "denied");
  return first && !second ? 0 : 1;
}
