"""The API of examples/python, as docs/getting-started.md shows it."""

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

from support import http1
from support.ports import free_port
from support.sluice import ServerTest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "python"


class PythonExample(ServerTest):
    def start(self, sluice_port):
        process = subprocess.Popen(
            [sys.executable, "-B", str(EXAMPLE / "api.py"), "0", f"127.0.0.1:{sluice_port}"],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.port = int(process.stdout.readline().rsplit(":", 1)[1])

    def get(self, path, key=None):
        return http1.request(self.port, "GET", path, headers={"X-API-Key": key} if key else {})

    def test_the_tutorial_shows_the_files_of_the_example(self):
        tutorial = (ROOT / "docs" / "getting-started.md").read_text(encoding="utf-8")
        shown = {kind: text for kind, text in reversed(re.findall(r"^```(yaml|python)\n(.*?)^```$", tutorial, re.M | re.S))}
        self.assertEqual(shown["yaml"], (EXAMPLE / "rules.yaml").read_text(encoding="utf-8"))
        self.assertIn(shown["python"], (EXAMPLE / "api.py").read_text(encoding="utf-8"))
        checked = subprocess.run(
            [os.environ["SLUICE"], "check-config", "rules.yaml"], cwd=EXAMPLE, capture_output=True, text=True, check=True
        )
        self.assertIn("$ sluice check-config rules.yaml\n" + checked.stdout, tutorial)

    def test_denied_calls_get_429_and_the_headers_of_the_decision(self):
        self.start(self.serve("--rules", EXAMPLE / "rules.yaml").http)
        status, headers, _ = self.get("/search", "alice-key")
        self.assertEqual((status, headers["X-RateLimit-Remaining"], headers["Retry-After"]), (200, "1", None))
        self.assertEqual(self.get("/search", "alice-key").status, 200)
        status, headers, _ = self.get("/search", "alice-key")
        self.assertEqual((status, headers["X-RateLimit-Limit"]), (429, "2"))
        self.assertIn(int(headers["Retry-After"]), range(1, 31))
        self.assertEqual(self.get("/search", "bob-key").status, 200)

    def test_unknown_keys_share_the_budget_of_their_address(self):
        self.start(self.serve("--rules", EXAMPLE / "rules.yaml").http)
        statuses = [self.get("/orders", f"made-up-{i}").status for i in range(6)]
        self.assertEqual(statuses, [200] * 5 + [429])

    def test_calls_pass_while_sluice_is_down(self):
        self.start(free_port())  # Nothing listens there.
        self.assertEqual(self.get("/search", "alice-key").status, 200)


if __name__ == "__main__":
    unittest.main()
