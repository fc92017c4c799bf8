"""Runs the binary named by SLUICE, as a user would."""

import os
import re
import subprocess
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


class Documents(unittest.TestCase):
    """What the binary prints about its own commands, for bash and for man."""

    def complete(self, *words):
        """What bash completes the last of the words to."""
        script = run_sluice("completion", "bash").stdout
        script += 'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sluice; printf "%s\\n" "${COMPREPLY[@]}"'
        done = subprocess.run(["bash", "-c", script, "bash", "sluice", *words], capture_output=True, text=True, check=True)
        return done.stdout.split()

    def commands(self):
        return re.findall(r"^  ([a-z-]+) ", run_sluice("--help").stdout.partition("Subcommands:")[2], re.MULTILINE)

    def test_commands_and_options_are_completed(self):
        commands = self.commands()
        self.assertIn("serve", commands)
        self.assertEqual(set(self.complete("")), {*commands, "-h", "--help", "--version"})
        self.assertEqual(self.complete("check"), ["check-config"])
        self.assertEqual(self.complete("serve", "--http-lis"), ["--http-listen"])
        self.assertEqual(self.complete("rules", "app"), ["apply"])
        self.assertEqual(self.complete("rules", "apply", "--dry"), ["--dry-run"])

    def test_values_of_options_are_left_to_bash(self):
        self.assertEqual(self.complete("serve", "--rules", ""), [])

    def test_the_manual_page_has_every_command(self):
        page = run_sluice("help", "--man").stdout
        for command in self.commands():
            self.assertIn(f'.SS "sluice {command.replace("-", chr(92) + "-")}"\n', page)
        self.assertNotRegex(page, r"(?m)^\.(?!TH|SH|SS|TP|B|RI|I|BR|PP|nf|fi)")


if __name__ == "__main__":
    unittest.main()
