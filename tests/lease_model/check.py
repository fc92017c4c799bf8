#!/usr/bin/env python3
"""Checks the protocol of leases with spin: the models hold, and with any one rule left out they don't.

Usage: check.py [work directory]
"""
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent

BUCKET = ["bucket.pml", "-DCAP=2", "-DREQUESTS=2", "-DEND=4"]
THREE_NODES = ["bucket.pml", "-DNODES=3", "-DCAP=3", "-DREQUESTS=1", "-DEND=4"]
FIXED = ["window.pml", "-DCAP=2", "-DWINDOW=2", "-DREQUESTS=2", "-DEND=4"]
SLIDING = ["window.pml", "-DSLIDING", "-DCAP=2", "-DWINDOW=2", "-DREQUESTS=2", "-DEND=5", "-DRESERVE=1"]

HOLD = [BUCKET, THREE_NODES, FIXED, SLIDING]
BREAK = [
    BUCKET + ["-DBROKEN_REFILL"],       # Refills as if nothing were outstanding.
    BUCKET + ["-DBROKEN_LATE_RETURN"],  # Takes back what has expired.
    BUCKET + ["-DBROKEN_DEADLINE"],     # Counts a lease from the answer, not from the question.
    BUCKET + ["-DBROKEN_RESERVE"],      # Reserves refill for which the bucket has no room.
    BUCKET + ["-DBROKEN_SCHEDULE"],     # Spends reserved tokens before they have arrived.
    BUCKET + ["-DBROKEN_DUPLICATE"],    # Hears one message several times.
    FIXED + ["-DBROKEN_LATE_RETURN"],   # Takes back into this window what is of another.
    FIXED + ["-DBROKEN_DEADLINE"],
    SLIDING + ["-DBROKEN_DEADLINE"],
    SLIDING + ["-DBROKEN_SCHEDULE"],    # Spends what has not decayed yet.
]


def explore(model, flags, directory):
    """The verifier's report on every run of the model."""
    subprocess.run(["spin", *flags, "-a", str(HERE / model)], cwd=directory, check=True)
    subprocess.run(["cc", "-O2", "-DSAFETY", "-DCOLLAPSE", "-o", "pan", "pan.c"], cwd=directory, check=True)
    return subprocess.run(["./pan", "-m100000"], cwd=directory, check=True, capture_output=True, text=True).stdout


def check(run, holds, directory):
    name = " ".join(run)
    report = explore(run[0], run[1:], directory)
    errors = int(re.search(r"errors: (\d+)", report).group(1))
    states = re.search(r"(\S+) states, stored", report).group(1)
    complete = "Search not completed" not in report and "max search depth too small" not in report
    right = (errors == 0 and complete) if holds else errors > 0
    found = "holds in every run" if errors == 0 else "admits too much"
    print(f"{'ok' if right else 'WRONG':5} {name}: {found} ({states} states)", flush=True)
    if not right:
        print(report)
    return right


def main():
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as directory:
        results = [check(run, True, directory) for run in HOLD] + [check(run, False, directory) for run in BREAK]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
