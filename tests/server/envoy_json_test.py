"""What Envoy's rate limit service answers over plain HTTP, as curl sees it."""

import json
import subprocess
import unittest

from support.environment import TIMEOUT
from support.sluice import ServerTest

LIMITS = """
domain: shop
descriptors:
  - key: user
    rate_limit: { unit: year, requests_per_unit: 2 }
"""


class EnvoyJson(ServerTest):
    def setUp(self):
        (self.folder / "shop.yaml").write_text(LIMITS, encoding="utf-8")
        self.server = self.serve("--envoy-config", self.folder)

    def curl(self, path, body=None):
        """Status and text."""
        completed = subprocess.run(
            ["curl", "-sS", "--max-time", str(TIMEOUT), "-w", "\n%{http_code}", *(["-d", body] if body else []),
             f"http://127.0.0.1:{self.server.http}{path}"],
            capture_output=True, text=True, timeout=2 * TIMEOUT, check=True,
        )  # fmt: skip
        text, _, status = completed.stdout.rpartition("\n")
        return int(status), text

    def should_rate_limit(self, user, **more):
        request = {"domain": "shop", "descriptors": [{"entries": [{"key": "user", "value": user}]}], **more}
        status, text = self.curl("/json", json.dumps(request))
        return status, json.loads(text)

    def test_a_call_is_answered_with_200_until_it_is_429(self):
        status, answer = self.should_rate_limit("ann")
        self.assertEqual((status, answer["overallCode"]), (200, "OK"))
        (limit,) = answer["statuses"]
        self.assertEqual(limit["code"], "OK")
        self.assertEqual(limit["currentLimit"], {"requestsPerUnit": 2, "unit": "YEAR"})
        self.assertEqual(limit["limitRemaining"], 1)
        self.assertRegex(limit["durationUntilReset"], r"^\d+(\.\d+)?s$")
        self.assertEqual(self.should_rate_limit("ann")[0], 200)
        status, answer = self.should_rate_limit("ann")
        self.assertEqual((status, answer["overallCode"]), (429, "OVER_LIMIT"))
        self.assertEqual(self.should_rate_limit("ben", hitsAddend=2)[0], 200)
        self.assertEqual(self.should_rate_limit("ben")[0], 429)

    def test_names_may_be_those_of_the_proto(self):
        body = '{"domain":"shop","descriptors":[{"entries":[{"key":"user","value":"cat"}]}],"hits_addend":2}'
        self.assertEqual([self.curl("/json", body)[0] for _ in range(2)], [200, 429])

    def test_what_is_not_a_request_is_refused(self):
        for body in ("{", "[]", '{"domain":7}', '{"domain":"shop","descriptors":[{"entries":"x"}]}'):
            status, text = self.curl("/json", body)
            self.assertEqual(status, 400, (body, text))
            self.assertNotEqual(text, "")

    def test_health_is_reported(self):
        self.assertEqual(self.curl("/healthcheck"), (200, "OK"))


if __name__ == "__main__":
    unittest.main()
