"""The commands of docs/operations.md, run as an operator runs them, against a real server."""

import os
import re
import subprocess
import unittest
from pathlib import Path

from support.control import ControlTest, rules
from support.environment import TIMEOUT, wait_until

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "operations.md"
TOKEN = "an-admin-token-of-a-test"
ROLLOUT = """
rules:
  - id: api
    algorithm: fixed_window
    limit: 50
    window: 1d
    rollout: { percent: 10, from: { limit: 20, window: 1d } }
"""


def read_tasks():
    """By number: for "Command line" and "API" the number of steps that the document claims, and the commands."""
    tasks = {}
    for section in re.split(r"(?m)^## ", DOCUMENT.read_text(encoding="utf-8"))[1:]:
        number = int(section.split(".")[0])
        tasks[number] = {
            way: (int(steps), block.strip().splitlines())
            for way, steps, block in re.findall(
                r"(?ms)^(Command line|API): (\d+) steps?\b.*?^```sh\n(.*?)^```", section
            )
        }
    return tasks


class Operations(ControlTest):
    def setUp(self):
        self.tasks = read_tasks()
        self.server = self.serve_store("--admin-token", TOKEN, "--control-traffic-sample", "false", rules=rules(3))
        (self.folder / "rollout.yaml").write_text(ROLLOUT, encoding="utf-8")

    def request(self, method, path, body=None):
        return self.server.request(method, path, body, [("Authorization", f"Bearer {TOKEN}")])

    def run_task(self, number, way):
        """Runs the commands of a task; returns the output of each."""
        steps, commands = self.tasks[number][way]
        self.assertEqual(len(commands), steps, "the document counts its steps")
        outputs = []
        for command in commands:
            binary = Path(os.environ["SLUICE"]).resolve()
            environment = os.environ | {
                "SLUICE_SERVER": f"http://127.0.0.1:{self.server.http}",
                "SLUICE_ADMIN_TOKEN": TOKEN,
                "PATH": f"{binary.parent}:{os.environ['PATH']}",
            }
            completed = subprocess.run(
                ["bash", "-c", command], cwd=self.folder, env=environment, capture_output=True, text=True,
                timeout=TIMEOUT, check=False,
            )  # fmt: skip
            self.assertEqual(completed.returncode, 0, f"{command}\n{completed.stdout}{completed.stderr}")
            outputs.append(completed.stdout)
        return outputs

    def lookup(self, key):
        body = {"attributes": {"api_key": key}}
        return self.request("POST", "/admin/v1/keys:lookup", body).json()["limits"][0]

    def wait_for_output(self, number, way, *texts):
        """Runs a task until its outputs, one for each command, contain the texts: nodes collect calls for a moment."""
        outputs = []

        def contains():
            outputs[:] = self.run_task(number, way)
            return all(text in output for text, output in zip(texts, outputs))

        wait_until(contains, lambda: f"{texts} in {outputs}")

    def test_every_task_has_both_ways(self):
        self.assertEqual(sorted(self.tasks), list(range(1, 11)))
        for number, ways in self.tasks.items():
            self.assertEqual(sorted(ways), ["API", "Command line"], number)

    def test_1_a_limit_for_one_customer(self):
        for way in ("Command line", "API"):
            self.run_task(1, way)
            wait_until(lambda: self.lookup("sk_prod_7")["limit"] == 500)
            self.request("DELETE", "/admin/v1/entries/vip-7")
            wait_until(lambda: self.lookup("sk_prod_7")["limit"] == 3)

    def test_2_and_3_a_block_and_its_end(self):
        for way, key in (("Command line", "sk_prod_8"), ("API", "sk_prod_9")):
            self.run_task(2, way)
            wait_until(lambda key=key: self.server.check(key).status == 403)
            self.run_task(3, way)
            wait_until(lambda key=key: self.server.check(key).status != 403)

    def test_4_the_top_consumers(self):
        for _ in range(3):
            self.server.check("sk_prod_5")
        for way in ("Command line", "API"):
            self.wait_for_output(4, way, "sk_prod_5")

    def test_5_why_a_caller_was_denied(self):
        for _ in range(4):
            self.server.check("sk_prod_5")
        for way in ("Command line", "API"):
            self.wait_for_output(5, way, "sk_prod_5", "api")

    def test_6_and_7_a_rollout_and_its_end(self):
        for way in ("Command line", "API"):
            self.run_task(7, way)
            self.assertIn(self.lookup("someone")["limit"], (20, 50))
            self.run_task(6, way)
            wait_until(lambda: self.lookup("someone")["limit"] == 3)

    def test_8_keys_that_are_reset(self):
        for way in ("Command line", "API"):
            for i in range(20):
                self.server.check(f"sk_test_{i}")
            self.run_task(8, way)
            wait_until(lambda: self.lookup("sk_test_1")["used"] == 0)

    def test_9_a_grant_until_tomorrow(self):
        for way, key in (("Command line", "sk_prod_7"), ("API", "sk_prod_9")):
            self.run_task(9, way)
            limit = self.lookup(key)
            self.assertEqual((limit["grant"], limit["expiring_grant"], limit["remaining"]), (1000, 1000, 1003))
            self.assertIsNotNone(limit["grant_expires_at"])

    def test_10_all_nodes(self):
        for way in ("Command line", "API"):
            self.wait_for_output(10, way, "1.1")


if __name__ == "__main__":
    unittest.main()
