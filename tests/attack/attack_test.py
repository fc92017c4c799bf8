"""Every attack for a second: nothing passes over a limit, memory stays bounded, and the good client is served."""

import unittest

from attack import MB, Row
from attacks import ATTACKS, SlotScan, name_of

SECONDS = 1
GROWTH = 400 * MB  # What an attack may add to the server's memory; limits.memory is far above on real machines.


SlotScan.slots = 10_000  # `./dev attack` takes more.


class Attacks(unittest.TestCase):
    """One test for each row of the table, added below."""


def add_test(attack):
    def test(self):
        row = Row(attack, SECONDS, settle_seconds=0)
        self.assertIn(row.over, (None, 0), f"calls passed over a limit: {row}")
        self.assertLess(row.peak - row.before, GROWTH, row)
        self.assertGreater(row.requests, row.failed, f"the good client was not served: {row}")

    setattr(Attacks, f"test_{name_of(attack)}", test)


for one in ATTACKS:
    add_test(one)

if __name__ == "__main__":
    unittest.main()
