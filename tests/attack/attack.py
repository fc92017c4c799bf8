"""Attacks the server named by SLUICE with real floods and slow clients, and prints what it did to the server.

    python3 attack.py [--seconds N] [attack ...]
"""

import argparse
import sys
import time

from attacks import ATTACKS, name_of
from measure import GoodClient, ServerUsage, resident_bytes

HEAD = (
    f"{'attack':<24}{'CPU':>6}{'RSS before':>12}{'peak':>8}{'after':>8}{'good p50':>11}{'p99':>11}{'failed':>8}{'over limit':>12}"
)
MB = 1 << 20


class Row:
    """What one attack did. `over`: calls that passed over a limit, or None."""

    def __init__(self, attack_type, seconds, settle_seconds=1):
        self.name = name_of(attack_type)
        with attack_type() as attack:
            pid = attack.server.process.pid
            good = GoodClient(attack.server.http, attack.good_path, attack.reconnect)
            with good, ServerUsage(pid) as usage:
                time.sleep(0.2)
                self.over = attack.run(seconds)
            time.sleep(settle_seconds)  # For memory to be given back.
            self.after = resident_bytes(pid)
            self.note = getattr(attack, "note", "")
        self.cpu, self.before, self.peak = usage.cpu, usage.before, usage.peak
        self.requests, self.failed = len(good.latencies), good.failed
        self.median, self.p99 = good.percentile(0.5), good.percentile(0.99)

    def __str__(self):
        over = "" if self.over is None else str(self.over)
        return (
            f"{self.name:<24}{self.cpu * 100:>5.0f}%{self.before / MB:>9.0f} MB{self.peak / MB:>5.0f} MB{self.after / MB:>5.0f} MB"
            f"{self.median * 1000:>8.1f} ms{self.p99 * 1000:>8.1f} ms{self.failed:>8}{over:>12}  {self.note}"
        ).rstrip()


def main():
    attacks = {name_of(attack): attack for attack in ATTACKS}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5, help="how long each flood lasts")
    parser.add_argument("--list", action="store_true", help="list the attacks")
    parser.add_argument("attack", nargs="*", help="all if none is named")
    options = parser.parse_args()
    if unknown := [name for name in options.attack if name not in attacks]:
        sys.exit(f"unknown attack: {', '.join(unknown)}; known: {' '.join(attacks)}")
    if options.list:
        for name, attack in attacks.items():
            print(f"{name:<24}{attack.__doc__}")
        return
    print(HEAD)
    for name in options.attack or attacks:
        try:
            print(Row(attacks[name], options.seconds), flush=True)
        except AssertionError as error:  # It did not start, or did not end well.
            print(f"{name:<24}{error}", flush=True)


if __name__ == "__main__":
    main()
