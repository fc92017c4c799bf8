"""Whatever happens to Redis, callers are answered in time and as their rules say, and the servers recover."""

import unittest

import faults
from load import Report
from support.slowness import Slowness

# Seconds on an idle machine; `./dev bench faults` prints the real figures.
SOON = 1.0
HEALED = 5.0
# Two servers of two loops each may know a few more nodes of a cluster than before, or wait for a sentinel's answer.
A_FEW = 16


class Faults(unittest.TestCase):
    def assert_survived(self, fault):
        with Slowness() as slowness:
            report = fault()
        print(report, flush=True)
        self.assertLess(report.worst, SOON * slowness.worst, "a caller waited for too long")
        self.assertEqual(report.wrong, 0, "answers other than the rule says")
        self.assertLess(report.to_exact, HEALED * slowness.worst, "it took too long to be exact again")
        self.assertLessEqual(report.more_files, A_FEW, "connections are left behind")
        if fault in faults.LOSES_WHAT_WAS_NOT_REPLICATED:
            self.assertLessEqual(report.twice, report.recent, "more was admitted twice than can have been lost")
        else:
            self.assertEqual(report.twice, 0, "admitted twice")


def add(fault):
    setattr(Faults, f"test_{fault.__name__}", lambda self: self.assert_survived(fault))


for each in faults.FAULTS:
    add(each)

if __name__ == "__main__":
    print(Report.HEAD)
    unittest.main()
