"""What .ci/ctest runs once more: failed tests of real processes, and nothing else."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / ".ci" / "ctest"

# Stands in for ctest: the first run fails as the test says, a later one passes or fails.
FAKE = """#!{python}
import json, os, sys
from pathlib import Path
case = json.loads(os.environ["CASE"])
logs = Path("build", sys.argv[2], "Testing", "Temporary")
logs.mkdir(parents=True, exist_ok=True)
if "--show-only=json-v1" in sys.argv:
    print(json.dumps({{"tests": [{{"name": name, "properties": [{{"name": "LABELS", "value": labels}}]}}
                                 for name, (labels, _) in case["tests"].items()]}}))
elif "--rerun-failed" in sys.argv:
    print("second run")
    sys.exit(case["second"])
else:
    names = list(case["tests"])
    (logs / "LastTestsFailed.log").write_text("".join(f"{{i}}:{{name}}\\n" for i, name in enumerate(names)))
    (logs / "LastTest.log").write_text("Start testing\\n" + "".join(
        "-" * 58 + f"\\n{{i}}/9 Testing: {{name}}\\nOutput:\\n{{case['tests'][name][1]}}\\n" for i, name in enumerate(names)))
    print("first run")
    sys.exit(8 if names else 0)
"""


class Rerun(unittest.TestCase):
    def run_ctest(self, tests, second=0):
        """`tests`: the labels and the output of each that fails first. Returns the exit code and the printed lines."""
        with tempfile.TemporaryDirectory() as folder:
            fake = Path(folder) / "ctest"
            fake.write_text(FAKE.format(python=sys.executable), encoding="utf-8")
            fake.chmod(0o755)
            environment = {
                **os.environ,
                "PATH": f"{folder}:{os.environ['PATH']}",
                "CASE": json.dumps({"tests": tests, "second": second}),
            }
            done = subprocess.run(
                [sys.executable, "-B", SCRIPT, "release"],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout.splitlines()

    def test_a_run_without_failures_is_the_only_one(self):
        self.assertEqual(self.run_ctest({}), (0, ["first run"]))

    def test_a_test_of_processes_may_pass_the_second_time_and_is_named(self):
        code, lines = self.run_ctest({"server/tls": (["integration", "server"], "timeout")})
        self.assertEqual(code, 0)
        self.assertIn("=== failed first, passed then: server/tls", lines)
        self.assertEqual(lines[-1], "second run")

    def test_a_test_of_processes_that_fails_twice_fails(self):
        code, lines = self.run_ctest({"server/tls": (["integration_threads"], "timeout")}, second=8)
        self.assertEqual(code, 8)
        self.assertEqual(lines[-1], "second run")

    def test_a_unit_test_is_not_run_again(self):
        tests = {"server/tls": (["integration"], "timeout"), "base_test/Key.Parses": (["unit"], "1 is not 2")}
        self.assertEqual(self.run_ctest(tests), (8, ["first run"]))

    def test_a_report_of_a_sanitizer_is_not_run_again(self):
        for report in ("==7==ERROR: AddressSanitizer: heap-use-after-free", "WARNING: ThreadSanitizer: data race",
                       "a.cc:3:4: runtime error: signed integer overflow"):
            with self.subTest(report):
                self.assertEqual(self.run_ctest({"server/tls": (["integration"], report)}), (8, ["first run"]))


if __name__ == "__main__":
    unittest.main()
