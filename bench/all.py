#!/usr/bin/env python3
"""Runs the benchmarks that have targets, and prints one table of targets, what was reached, and met or missed.

all.py [--only NAME...] [--reuse] [--json FILE]

--reuse runs nothing and judges the figures in build/bench/ that are there. Every target is one row of `targets_of`.
"""

import argparse
import json
import os
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, "build", "bench")
BINARIES = os.path.join(ROOT, "build", "release", "bin")
# In the order of their run; together below 15 minutes on two cores.
COMMANDS = {
    "engine": ["--quick", "--peers", os.path.join(FOLDER, "peers")],
    "rules": ["--quick"],
    "redis": ["--quick"],
    "lease-sim": ["--only", "hot"],
    "lease": ["--quick"],
    "resp": ["--quick"],
    "http": ["--quick"],
    "grpc": ["--quick"],
}


def row(benchmark, what, target, reached, met):
    return {"benchmark": benchmark, "what": what, "target": target, "reached": reached, "met": met}


def at_least(benchmark, what, bound, value, unit="x"):
    return row(benchmark, what, f"≥ {bound:g} {unit}".replace(" x", "x"), f"{value:.2f}{'' if unit == 'x' else ' '}{unit}", value >= bound)


def at_most(benchmark, what, bound, value, unit="x"):
    return row(benchmark, what, f"≤ {bound:g} {unit}".replace(" x", "x"), f"{value:.3g}{'' if unit == 'x' else ' '}{unit}", value <= bound)


def engine_targets(figures):
    for target in figures["targets"]:
        threads = f"{target['threads']} thread{'s' if target['threads'] > 1 else ''}"
        place = ", ".join(part for part in (f"{target['keys']} keys", target["distribution"], threads) if part)
        yield row("engine", f"{target['what']}, {place}", target["target"], f"{target['reached']:.2f}", target["met"])


def rules_targets(figures):
    for line in figures["matches"]:
        if line["what"] == "1000 rules":
            yield at_least("rules", "matches with 1000 rules", 3, line["per_second"] / 1e6, "M/s")
        if line["what"] == "10 rules":
            yield at_least("rules", "10 rules beside the plain loop", 1, line["per_second"] / line["compared_per_second"])
    if "two_threads_by_one" in figures:
        yield at_least("rules", "two threads beside one, 1000 rules", 1.9, figures["two_threads_by_one"])


def redis_targets(figures):
    for line in figures["speed"]:
        if line["waiting"] == 1:
            yield at_least("redis", "one waiting check beside EVALSHA", 1, line["ratio"])
    yield at_most("redis", "memory of a key", 150, figures["bytes_per_key"]["sluice"], "bytes")


def lease_targets(figures):
    for ratio in figures["ratios"]:
        place = f"{ratio['traffic']}, {ratio['nodes']} node{'s' if ratio['nodes'] > 1 else ''}, Redis {ratio['redis']}"
        yield at_least("lease", f"leased beside exact: rate, {place}", 1, ratio["rate"])
        yield at_least("lease", f"leased beside exact: lower quartile, {place}", 0.95, ratio["rate_lower_quartile"])
        yield at_most("lease", f"leased beside exact: CPU of Redis, {place}", 1, ratio["redis_cpu"])
    over = sum(line["over"] for line in figures["modes"])
    yield at_most("lease", "admitted beyond a limit", 0, over, "calls")


def lease_sim_targets(figures):
    for line in figures:
        scenario = line["scenario"]
        if scenario in ("hot sliding counter, 1x", "hot sliding counter, 1.1x"):
            yield at_most("lease-sim", f"deficit, {scenario}", 0.1, 100 * line["deficit"], "%")
        if scenario.endswith(("0.5x", "0.9x", "1x", "10x")) and scenario.startswith("hot"):
            yield at_most("lease-sim", f"store calls, {scenario}", 5, 100 * line["hot_store_calls"], "%")
    yield at_most("lease-sim", "admitted beyond a limit", 0, sum(line["over"] for line in figures), "tokens")


def server_targets(benchmark, figures):
    """Of the benchmarks with a load generator, which judge themselves."""
    for line in figures["speed"]:
        for target, verdict in line["targets"].items():
            ours, theirs = line["measured"], line["compared"]
            reached = f"{ours['per_second'] / 1e3:.0f} k/s, {ours['cpu_micros']:.2f} µs"
            if theirs:
                rate = ours["per_second"] / theirs["per_second"]
                reached += f"; rate {rate:.2f}x, CPU {ours['cpu_micros'] / theirs['cpu_micros']:.2f}x"
            met = None if verdict.startswith("not judged") else verdict.startswith("met")
            yield row(benchmark, f"{line['what']}, {line['depth']} deep", target, reached, met)


JUDGES = {"engine": engine_targets, "rules": rules_targets, "redis": redis_targets, "lease": lease_targets,
          "lease-sim": lease_sim_targets}


def targets_of(benchmark, figures):
    judge = JUDGES.get(benchmark)
    return list(judge(figures) if judge else server_targets(benchmark, figures))


def run(benchmark):
    """Runs one benchmark. Returns its figures, or an error."""
    out = os.path.join(FOLDER, f"{benchmark}.json")
    if os.path.exists(out):
        os.remove(out)
    command = [os.path.join(BINARIES, f"bench_{benchmark}"), "--json", out, *COMMANDS[benchmark]]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if not os.path.exists(out):
        return None, (done.stderr or done.stdout).strip().splitlines()[-1:] or [f"ended with {done.returncode}"]
    return read(benchmark), None


def read(benchmark):
    with open(os.path.join(FOLDER, f"{benchmark}.json"), encoding="utf-8") as file:
        return json.load(file)


def table(rows):
    """Returns the rows as a Markdown table."""
    lines = ["| benchmark | what | target | reached | |", "|---|---|---|---|---|"]
    for each in rows:
        verdict = {True: "met", False: "**missed**", None: "not judged"}[each["met"]]
        lines.append(f"| {each['benchmark']} | {each['what']} | {each['target']} | {each['reached']} | {verdict} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=COMMANDS, default=list(COMMANDS))
    parser.add_argument("--reuse", action="store_true")
    parser.add_argument("--json", default=os.path.join(FOLDER, "all.json"))
    arguments = parser.parse_args()
    began = time.monotonic()
    rows = []
    for benchmark in arguments.only:
        error = None
        if arguments.reuse:
            try:
                figures = read(benchmark)
            except FileNotFoundError:
                figures, error = None, ["no figures"]
        else:
            print(f"running {benchmark} …", file=sys.stderr, flush=True)
            figures, error = run(benchmark)
        rows += [row(benchmark, "–", "–", error[0], None)] if error else targets_of(benchmark, figures)
    print(table(rows))
    counts = {verdict: sum(each["met"] is verdict for each in rows) for verdict in (True, False, None)}
    print(f"\n{counts[True]} met, {counts[False]} missed, {counts[None]} not judged; "
          f"{time.monotonic() - began:.0f} s, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the end")
    with open(arguments.json, "w", encoding="utf-8") as file:
        json.dump(rows, file, indent=2, ensure_ascii=False)
        file.write("\n")
    print(f"written to {arguments.json}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
