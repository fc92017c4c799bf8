"""What Envoy's rate limit service answers over plain HTTP, as curl sees it."""

import json
import subprocess
import tempfile
import unittest
from pathlib import Path

from running import PATIENCE, Server

LIMITS = """
domain: shop
descriptors:
  - key: user
    rate_limit: { unit: year, requests_per_unit: 2 }
"""


class EnvoyJson(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        (Path(folder.name) / "shop.yaml").write_text(LIMITS, encoding="utf-8")
        self.server = Server("--envoy-config", folder.name)
        self.addCleanup(self.server.__exit__)

    def curl(self, path, body=None):
        """Status and text."""
        told = subprocess.run(
            ["curl", "-sS", "--max-time", str(PATIENCE), "-w", "\n%{http_code}", *(["-d", body] if body else []),
             f"http://127.0.0.1:{self.server.http}{path}"],
            capture_output=True, text=True, timeout=2 * PATIENCE, check=True,
        )  # fmt: skip
        text, _, status = told.stdout.rpartition("\n")
        return int(status), text

    def ask(self, user, **more):
        request = {"domain": "shop", "descriptors": [{"entries": [{"key": "user", "value": user}]}], **more}
        status, text = self.curl("/json", json.dumps(request))
        return status, json.loads(text)

    def test_a_call_is_answered_with_200_until_it_is_429(self):
        status, answer = self.ask("ann")
        self.assertEqual((status, answer["overallCode"]), (200, "OK"))
        (told,) = answer["statuses"]
        self.assertEqual(told["code"], "OK")
        self.assertEqual(told["currentLimit"], {"requestsPerUnit": 2, "unit": "YEAR"})
        self.assertEqual(told["limitRemaining"], 1)
        self.assertRegex(told["durationUntilReset"], r"^\d+(\.\d+)?s$")
        self.assertEqual(self.ask("ann")[0], 200)
        status, answer = self.ask("ann")
        self.assertEqual((status, answer["overallCode"]), (429, "OVER_LIMIT"))
        self.assertEqual(self.ask("ben", hitsAddend=2)[0], 200)
        self.assertEqual(self.ask("ben")[0], 429)

    def test_names_may_be_those_of_the_proto(self):
        body = '{"domain":"shop","descriptors":[{"entries":[{"key":"user","value":"cat"}]}],"hits_addend":2}'
        self.assertEqual([self.curl("/json", body)[0] for _ in range(2)], [200, 429])

    def test_what_is_no_request_is_told(self):
        for body in ("{", "[]", '{"domain":7}', '{"domain":"shop","descriptors":[{"entries":"x"}]}'):
            status, text = self.curl("/json", body)
            self.assertEqual(status, 400, (body, text))
            self.assertNotEqual(text, "")

    def test_health_is_told(self):
        self.assertEqual(self.curl("/healthcheck"), (200, "OK"))


if __name__ == "__main__":
    unittest.main()
