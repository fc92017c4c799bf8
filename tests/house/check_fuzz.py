"""Every fuzz target has seeds and a dictionary that libFuzzer can read, both of them small."""

import re
from pathlib import Path

import house

_MOST_SEEDS, _MOST_BYTES = 150, 300_000
# "word" or name="word"; inside, only \\ and \" and \xAB are escapes.
_WORD = re.compile(r'^(?:\w+=)?"(?:[^"\\]|\\\\|\\"|\\x[0-9a-fA-F]{2})+"$')


def _check_seeds(folder):
    seeds = [path for path in folder.iterdir() if path.is_file()] if folder.is_dir() else []
    if not seeds:
        return [f"{folder.name}: no seeds in fuzz/corpus/{folder.name}"]
    size = sum(path.stat().st_size for path in seeds)
    if len(seeds) > _MOST_SEEDS or size > _MOST_BYTES:
        return [f"{folder.name}: {len(seeds)} seeds of {size} bytes; at most {_MOST_SEEDS} of {_MOST_BYTES}"]
    return []


def _check_dictionary(path):
    if not path.is_file():
        return [f"{path.stem}: no fuzz/dictionaries/{path.name}"]
    problems = []
    words = 0
    for number, line in enumerate(path.read_text(encoding="ascii").splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        words += 1
        if not _WORD.match(line):
            problems.append(f"fuzz/dictionaries/{path.name}:{number}: libFuzzer can't read {line}")
    return problems if words else [f"fuzz/dictionaries/{path.name}: no words"]


def check(root):
    fuzz = Path(root) / "fuzz"
    targets = sorted(path.name.removesuffix("_fuzz.cc") for path in fuzz.glob("*_fuzz.cc"))
    problems = [] if targets else ["fuzz: no targets"]
    for target in targets:
        problems += _check_seeds(fuzz / "corpus" / target)
        problems += _check_dictionary(fuzz / "dictionaries" / f"{target}.dict")
    for path in sorted((fuzz / "dictionaries").glob("*")):
        if path.stem not in targets:
            problems.append(f"fuzz/dictionaries/{path.name}: of no target")
    return problems


if __name__ == "__main__":
    house.run(check)
