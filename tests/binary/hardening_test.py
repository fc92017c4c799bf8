"""Reads the binary named by SLUICE with readelf: is it hardened as it should be?"""

import os
import platform
import re
import subprocess
import unittest


def readelf(*options):
    return subprocess.run(
        ["readelf", "--wide", *options, os.environ["SLUICE"]], capture_output=True, text=True, timeout=60, check=True
    ).stdout


def imported():
    """The names of the C library's functions that the binary calls."""
    return set(re.findall(r"\bUND (\w+)", readelf("--dyn-syms")))


class Hardening(unittest.TestCase):
    def test_it_can_be_loaded_anywhere(self):
        self.assertRegex(readelf("--file-header"), r"Type: +DYN")

    def test_what_is_relocated_is_read_only_before_main(self):
        self.assertIn("GNU_RELRO", readelf("--program-headers"))
        dynamic = readelf("--dynamic")
        self.assertTrue("BIND_NOW" in dynamic or re.search(r"FLAGS_1.*\bNOW\b", dynamic), dynamic)

    def test_no_segment_can_be_both_written_and_run(self):
        for line in readelf("--program-headers").splitlines():
            segment = re.match(r" +(LOAD|GNU_STACK) .* ([R ][W ][E ]) 0x", line)
            if segment:
                self.assertFalse("W" in segment[2] and "E" in segment[2], line)

    def test_overwritten_stacks_are_noticed(self):
        self.assertIn("__stack_chk_fail", imported())

    def test_copies_into_buffers_that_are_too_small_are_noticed(self):
        checked = {name for name in imported() if name.endswith("_chk")}
        self.assertTrue(checked - {"__stack_chk_fail"}, "no function of FORTIFY is called")

    def test_containers_check_what_they_are_asked_for(self):
        self.assertRegex(readelf("--symbols"), r"FUNC .*__glibcxx_assert_fail")

    @unittest.skipUnless(platform.machine() == "x86_64", "CET is of x86")
    def test_indirect_calls_land_where_functions_begin(self):
        names = readelf("--symbols")
        found = re.search(r"^ *\d+: ([0-9a-f]+) +\d+ FUNC +GLOBAL +DEFAULT +\d+ main$", names, re.MULTILINE)
        self.assertIsNotNone(found, "main is not there: is the binary stripped?")
        at = int(found[1], 16)
        code = subprocess.run(
            ["objdump", "-d", f"--start-address={at}", f"--stop-address={at + 4}", os.environ["SLUICE"]],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout
        self.assertIn("endbr64", code)


if __name__ == "__main__":
    unittest.main()
