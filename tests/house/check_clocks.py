"""Nobody reads a clock but src/base and the benchmarks: everybody else is told what time it is."""

import re
from pathlib import Path

import house

_READS = re.compile(
    r"""::\s*now\b
      | \b(?:clock_gettime|gettimeofday|timespec_get|ftime|__rdtscp?|_rdtsc|rdtscp?)\b
      | \bstd::(?:time|clock)\s*\(
      | (?<![\w.>:])time\s*\(\s*(?:nullptr|NULL|0|&)""",
    re.VERBOSE,
)


def _may_read(path):
    return path.is_relative_to(Path("src/base")) or path.name.endswith("_bench.cc")


def check(root):
    problems = []
    for under in ("include", "src", "apps", "examples", "fuzz", "tests"):
        for path in house.cpp_files(root, under):
            if _may_read(path):
                continue
            text = house.without(house.read(root, path), "comment", "raw", "literal")
            for match in _READS.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                problems.append(f"{path}:{line}: reads a clock ({match.group()}); take `now` or a Clock instead")
    return problems


if __name__ == "__main__":
    house.run(check)
