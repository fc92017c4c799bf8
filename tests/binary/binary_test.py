"""Runs the binary named by SLUICE, as a user would."""

import os
import re
import unittest

from support.sluice import run_sluice

ALGORITHMS = (
    "token_bucket",
    "leaky_bucket",
    "fixed_window",
    "sliding_window_log",
    "sliding_window_counter",
    "concurrency",
)


class Demo(unittest.TestCase):
    def test_every_algorithm_is_shown_allowing_and_denying(self):
        shown = run_sluice("demo")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        scenes = dict(re.findall(r"^(\w+): (.*?)(?=^\w+: |\Z)", shown.stdout, re.MULTILINE | re.DOTALL))
        self.assertEqual(tuple(scenes), ALGORITHMS)
        for scene in scenes.values():
            self.assertRegex(scene, r"\ballowed\b")
            self.assertRegex(scene, r"\bdenied\b")

    def test_a_denial_always_says_how_long_to_wait(self):
        denials = re.findall(r"^.*\bdenied\b.*$", run_sluice("demo").stdout, re.MULTILINE)
        self.assertTrue(denials)
        for denial in denials:
            wait = re.search(r"denied +\d+ +([\d.]+) s", denial)
            self.assertIsNotNone(wait, denial)
            self.assertGreater(float(wait[1]), 0, denial)

    def test_output_that_can_not_be_written_is_a_failure(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            self.assertEqual(run_sluice("demo", stdout=full).returncode, 1)


class Arguments(unittest.TestCase):
    def test_the_version_is_printed(self):
        completed = run_sluice("--version")
        self.assertEqual((completed.returncode, completed.stdout), (0, f"sluice {os.environ['SLUICE_VERSION']}\n"))

    def test_help_names_every_command(self):
        completed = run_sluice("--help")
        self.assertEqual(completed.returncode, 0)
        for command in ("serve", "check-config", "explain", "simulate", "demo", "--version", "--help"):
            self.assertIn(command, completed.stdout)

    def test_an_unknown_command_is_refused_by_name(self):
        refused = run_sluice("fly")
        self.assertEqual((refused.returncode, refused.stdout), (2, ""))
        self.assertIn("unknown command 'fly'", refused.stderr)
        self.assertIn("sluice --help", refused.stderr)

    def test_an_argument_too_many_is_refused_by_name(self):
        refused = run_sluice("demo", "twice")
        self.assertEqual((refused.returncode, refused.stdout), (2, ""))
        self.assertIn("unexpected argument 'twice'", refused.stderr)


if __name__ == "__main__":
    unittest.main()
