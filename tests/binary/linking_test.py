"""Reads the binary named by SLUICE with readelf: does it run on machines that have glibc, and nothing else of ours?"""

import os
import re
import subprocess
import unittest
from pathlib import Path

OF_GLIBC = re.compile(r"lib(?:c|m|dl|rt|pthread|resolv)\.so\.\d+|ld-linux.*")


class Linking(unittest.TestCase):
    def test_the_only_shared_libraries_are_those_of_glibc(self):
        dynamic = subprocess.run(
            ["readelf", "--wide", "--dynamic", os.environ["SLUICE"]], capture_output=True, text=True, timeout=60, check=True
        ).stdout
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
        self.assertIn("libc.so.6", needed)
        self.assertEqual([name for name in needed if not OF_GLIBC.fullmatch(name)], [])

    def test_the_path_of_the_source_is_not_in_it(self):
        # Binaries of one commit are equal, wherever they are built.
        source = str(Path(__file__).resolve().parents[2]).encode()
        self.assertNotIn(source + b"/", Path(os.environ["SLUICE"]).read_bytes())


if __name__ == "__main__":
    unittest.main()
