#include "run_bench.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string_view>

namespace sluice::bench {

int RunBench(const char* program, int argc, char** argv,
             const std::function<void(const Options&)>& run,
             const std::vector<std::string>& variants) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--quick") {
      options.quick = true;
    } else if (argument == "--alone") {
      options.alone = true;
    } else if (argument == "--json" && i + 1 < argc) {
      options.json = argv[++i];
    } else if (std::find(variants.begin(), variants.end(), argument) != variants.end()) {
      options.variant = argument;
    } else {
      std::string own;
      for (const std::string& variant : variants) own += " [" + variant + "]";
      std::fprintf(stderr, "usage: %s [--quick] [--alone] [--json FILE]%s\n", program, own.c_str());
      return 2;
    }
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // Each line shows when it is known, in a pipe too.
  try {
    run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program, error.what());
    return 1;
  }
  if (!options.json.empty()) std::printf("\nwritten to %s\n", options.json.c_str());
  return 0;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace sluice::bench
