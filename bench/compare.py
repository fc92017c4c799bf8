#!/usr/bin/env python3
"""Compares two builds: runs a benchmark with each in turn, and prints the ratio of every figure with its spread.

compare.py [--rounds N] [--json FILE] (--server | --program) OURS BASELINE BENCHMARK [arguments of the benchmark]

With --server, OURS and BASELINE are servers, both measured by BENCHMARK. With --program they are two builds of the
benchmark itself, and BENCHMARK is only its name.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

FIGURE = re.compile(r"(per_second|_micros|_nanos|_ns|_seconds)$")
HIGHER_IS_BETTER = re.compile(r"per_second$")
# Set by the benchmark, or as large as the machine is busy.
NO_FIGURE = re.compile(r"^(asked_per_second|highest_)")
MINIMUM_ROUNDS = 10
NOTICEABLE = 0.02


def figures_of(node, label=()):
    """Yields (label, figure, value) of every figure below the node; labels are the texts and counts beside it."""
    if isinstance(node, list):
        for entry in node:
            yield from figures_of(entry, label)
    elif isinstance(node, dict):
        sides = {"measured": node.get("ours"), "compared": node.get("theirs")}
        own = [str(v) for k, v in node.items() if k not in ("ours", "theirs") and is_label(k, v)]
        for key, value in node.items():
            if isinstance(value, (list, dict)) and key != "targets":
                # The name of a section says nothing that its lines don't say.
                side = [sides[key]] if sides.get(key) else [] if isinstance(value, list) else [key]
                yield from figures_of(value, (*label, *own, *side))
            elif isinstance(value, (int, float)) and FIGURE.search(key) and not NO_FIGURE.search(key):
                yield " ".join((*label, *own)), key, float(value)


def is_label(key, value):
    return isinstance(value, str) or (isinstance(value, int) and not FIGURE.search(key))


def run(command, server):
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        environment = {**os.environ, "SLUICE": os.path.abspath(server)} if server else None
        done = subprocess.run([*command, "--json", out.name], env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"compare: {' '.join(command)} failed:\n{done.stdout}{done.stderr}")
        with open(out.name, encoding="utf-8") as file:
            return {(label, figure): value for label, figure, value in figures_of(json.load(file))}


def verdict(figure, low, high):
    """Says which way at least three quarters of the rounds point by more than is noise."""
    if HIGHER_IS_BETTER.search(figure):
        low, high = 1 / high, 1 / low
    if low > 1 + NOTICEABLE:
        return "slower"
    return "faster" if high < 1 - NOTICEABLE else ""


def compare(ours, baseline):
    """Returns a row of each figure that every round of both has."""
    rows = []
    for label, figure in ours[0]:
        pairs = [(a.get((label, figure)), b.get((label, figure))) for a, b in zip(ours, baseline, strict=True)]
        if any(not a or not b for a, b in pairs):
            continue
        ratios = [a / b for a, b in pairs]
        low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
        rows.append({
            "what": label,
            "figure": figure,
            "ours": statistics.median(a for a, _ in pairs),
            "baseline": statistics.median(b for _, b in pairs),
            "ratio": middle,
            "quartiles": [low, high],
            "range": [min(ratios), max(ratios)],
            "verdict": verdict(figure, low, high),
        })
    return rows


def show(rows):
    width = max(len(f"{row['what']} {row['figure']}") for row in rows)
    print(f"\n{'':{width}} {'baseline':>12} {'ours':>12} {'ratio':>6}  {'quartiles':11}  {'range':11}")
    for row in rows:
        spreads = "  ".join(f"{low:.2f}–{high:.2f}".ljust(11) for low, high in (row["quartiles"], row["range"]))
        values = " ".join(f"{row[side]:12.2f}" if row[side] < 1e6 else f"{row[side]:12.0f}" for side in ("baseline", "ours"))
        name = f"{row['what']} {row['figure']}"
        print(f"{name:{width}} {values} {row['ratio']:6.3f}  {spreads}  {row['verdict']}".rstrip())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=MINIMUM_ROUNDS)
    parser.add_argument("--json")
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--server", action="store_true")
    kind.add_argument("--program", action="store_true")
    parser.add_argument("ours")
    parser.add_argument("baseline")
    parser.add_argument("benchmark")
    options, arguments = parser.parse_known_args()
    if options.rounds < MINIMUM_ROUNDS:
        parser.error(f"fewer than {MINIMUM_ROUNDS} rounds say nothing of the spread")
    for binary in (options.ours, options.baseline):
        if not os.access(binary, os.X_OK):
            parser.error(f"{binary} is no program")

    def measure(binary):
        if options.server:
            return run([options.benchmark, "--alone", *arguments], binary)
        return run([os.path.abspath(binary), *arguments], None)

    ours, baseline = [], []
    for number in range(options.rounds):
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
        # The order changes from round to round: neither side always follows the other.
        for side, binary in ((ours, options.ours), (baseline, options.baseline))[:: 1 if number % 2 else -1]:
            side.append(measure(binary))
    rows = compare(ours, baseline)
    if not rows:
        sys.exit("compare: the two have no figure in common")
    show(rows)
    print(f"\nratio: ours by the baseline, median of {options.rounds} rounds; slower, faster: the quartiles agree on more"
          f" than {NOTICEABLE:.0%}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=2)
        print(f"written to {options.json}")


if __name__ == "__main__":
    main()
