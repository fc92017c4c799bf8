"""Runs the binary named by SLUICE, as a user would."""

import os
import re
import subprocess
import unittest

ALGORITHMS = (
    "token_bucket",
    "leaky_bucket",
    "fixed_window",
    "sliding_window_log",
    "sliding_window_counter",
    "concurrency",
)


def sluice(*arguments, stdout=subprocess.PIPE):
    return subprocess.run(
        [os.environ["SLUICE"], *arguments], stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=30, check=False
    )


class Demo(unittest.TestCase):
    def test_every_algorithm_is_shown_allowing_and_denying(self):
        shown = sluice("demo")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        scenes = dict(re.findall(r"^(\w+): (.*?)(?=^\w+: |\Z)", shown.stdout, re.MULTILINE | re.DOTALL))
        self.assertEqual(tuple(scenes), ALGORITHMS)
        for scene in scenes.values():
            self.assertRegex(scene, r"\ballowed\b")
            self.assertRegex(scene, r"\bdenied\b")

    def test_a_denial_always_says_how_long_to_wait(self):
        denials = re.findall(r"^.*\bdenied\b.*$", sluice("demo").stdout, re.MULTILINE)
        self.assertTrue(denials)
        for denial in denials:
            wait = re.search(r"denied +\d+ +([\d.]+) s", denial)
            self.assertIsNotNone(wait, denial)
            self.assertGreater(float(wait[1]), 0, denial)

    def test_output_that_can_not_be_written_is_a_failure(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            self.assertEqual(sluice("demo", stdout=full).returncode, 1)


class Arguments(unittest.TestCase):
    def test_the_version_is_told(self):
        told = sluice("--version")
        self.assertEqual((told.returncode, told.stdout), (0, f"sluice {os.environ['SLUICE_VERSION']}\n"))

    def test_help_names_every_command(self):
        told = sluice("--help")
        self.assertEqual(told.returncode, 0)
        for command in ("serve", "check-config", "explain", "simulate", "demo", "--version", "--help"):
            self.assertIn(command, told.stdout)

    def test_an_unknown_command_is_refused_by_name(self):
        refused = sluice("fly")
        self.assertEqual((refused.returncode, refused.stdout), (2, ""))
        self.assertIn("unknown command 'fly'", refused.stderr)
        self.assertIn("sluice --help", refused.stderr)

    def test_an_argument_too_many_is_refused_by_name(self):
        refused = sluice("demo", "twice")
        self.assertEqual((refused.returncode, refused.stdout), (2, ""))
        self.assertIn("unexpected argument 'twice'", refused.stderr)


if __name__ == "__main__":
    unittest.main()
