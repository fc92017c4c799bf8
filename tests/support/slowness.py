"""How slow this machine is at the moment, for tests that are about time."""

import subprocess
import sys

# Wants 5 ms of a processor every 25 ms, and records how many times as long it takes to get them.
_PROGRAM = """
import select, statistics, sys, time
ratios = [1.0]
while not select.select([sys.stdin], [], [], 0.02)[0]:
    began, spent = time.monotonic(), time.process_time()
    while time.process_time() < spent + 0.005:
        pass
    ratios.append(max(1.0, (time.monotonic() - began) / 0.005))
print(statistics.median(ratios), max(ratios))
"""


class Slowness:
    """Measures while the `with` block runs. `median` and `worst`: how many times as long as on an idle machine work took,
    at least 1. A bound on a server's delay is multiplied by it: other programs may have the processors."""

    median = worst = 1.0

    def __enter__(self):
        self._process = subprocess.Popen(  # pylint: disable=consider-using-with  # Closed by __exit__.
            [sys.executable, "-c", _PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def __exit__(self, *_):
        output, _ = self._process.communicate()
        self.median, self.worst = map(float, output.split())
