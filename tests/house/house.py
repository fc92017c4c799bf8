"""What the house checks share: finding files, reading C++ without its comments, reporting."""

import os
import re
import sys
from pathlib import Path

_SKIPPED = {"build", ".git", ".cache", "__pycache__"}

# Comments, raw strings, strings, characters. A digit separator (1'000) is not a quote.
_CPP_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<raw>R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)")
      | (?P<literal>"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\[^\n]+?|[^'\\\n])')""",
    re.DOTALL | re.VERBOSE,
)


def files(root, suffixes, under="."):
    """Paths of all files below root/under with one of the suffixes, relative to root, sorted."""
    found = []
    for folder, folders, names in os.walk(Path(root) / under):
        folders[:] = [name for name in folders if name not in _SKIPPED]
        found += [Path(folder, name).relative_to(root) for name in names if Path(name).suffix in suffixes]
    return sorted(found)


def cpp_files(root, under):
    return files(root, {".h", ".cc"}, under)


def read(root, path):
    return (Path(root) / path).read_text(encoding="utf-8")


def without(text, *kinds):
    """The text with tokens of these kinds (comment, raw, literal) blanked, line numbers kept."""

    def blank(match):
        blanked = any(match[kind] is not None for kind in kinds)
        return "\n" * match.group().count("\n") if blanked else match.group()

    return _CPP_TOKEN.sub(blank, text)


def run(check):
    """The main function of a check: `check(root)` gives the problems, one line each."""
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} <root of the source tree>")
    problems = check(Path(sys.argv[1]))
    for problem in problems:
        print(problem)
    print(f"{len(problems)} problem(s)")
    sys.exit(1 if problems else 0)
