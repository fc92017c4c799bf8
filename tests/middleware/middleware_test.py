"""Starts the example named by SERVER and sends it requests, as its clients would."""

import os
import subprocess
import tempfile
import time
import unittest

from support import http1
from support.files import write_rules

RULES = """
deny: [bad-key]
rules:
  - { id: hello, match: { endpoint: /hello }, algorithm: fixed_window, limit: 3, window: 1h, anchor: first_hit }
"""


class Example:
    def __init__(self, *trusted):
        self.folder = tempfile.TemporaryDirectory()
        rules = write_rules(self.folder.name, RULES)
        self.process = subprocess.Popen(
            [os.environ["SERVER"], "0", str(rules), *trusted], stdout=subprocess.PIPE, text=True
        )
        line = self.process.stdout.readline()
        self.port = int(line.rsplit(":", 1)[1])

    def get(self, path="/hello", headers=()):
        return http1.request(self.port, "GET", path, headers=headers)

    def statuses(self, *requests):
        return [self.get(headers=headers)[0] for headers in requests]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.folder.cleanup()


class Middleware(unittest.TestCase):
    def start(self, *trusted):
        return self.enterContext(Example(*trusted))

    def test_allowed_responses_carry_the_remaining_quota(self):
        example = self.start()
        for left in (2, 1, 0):
            status, headers, body = example.get()
            self.assertEqual((status, body), (200, "hello\n"))
            self.assertEqual(headers["X-RateLimit-Limit"], "3")
            self.assertEqual(headers["X-RateLimit-Remaining"], str(left))
            self.assertGreaterEqual(int(headers["X-RateLimit-Reset"]), int(time.time()))
            self.assertIsNone(headers["Retry-After"])

    def test_denied_clients_learn_when_to_retry(self):
        example = self.start()
        self.assertEqual(example.statuses((), (), (), ()), [200, 200, 200, 429])
        denied = example.get()
        self.assertEqual(denied.status, 429)
        self.assertIn(int(denied.headers["Retry-After"]), range(1, 3601))
        self.assertEqual(denied.headers["Content-Type"], "application/json")
        self.assertEqual(denied.json()["error"]["code"], "RATE_LIMIT_EXCEEDED")

    def test_each_key_has_its_own_budget(self):
        example = self.start()
        one, two = [("X-API-Key", "one")], [("x-api-key", "two")]
        self.assertEqual(example.statuses(one, one, one, one, two), [200, 200, 200, 429, 200])

    def test_addresses_that_a_client_makes_up_do_not_count(self):
        example = self.start()
        forged = [
            [("X-Forwarded-For", f"198.51.100.{i}"), ("X-Real-IP", f"198.51.100.{i}"), ("REMOTE_ADDR", f"198.51.100.{i}")]
            for i in range(5)
        ]
        self.assertEqual(example.statuses(*forged), [200, 200, 200, 429, 429])

    def test_a_trusted_proxy_names_its_clients(self):
        example = self.start("127.0.0.1")
        through = [[("X-Forwarded-For", f"198.51.100.{i}")] for i in range(5)]
        self.assertEqual(example.statuses(*through), [200] * 5)
        forged = [[("X-Forwarded-For", f"1.1.1.{i}, 203.0.113.9")] for i in range(5)]
        self.assertEqual(example.statuses(*forged), [200, 200, 200, 429, 429])
        repeated = [[("X-Forwarded-For", f"1.1.1.{i}"), ("X-Forwarded-For", "203.0.113.10")] for i in range(5)]
        self.assertEqual(example.statuses(*repeated), [200, 200, 200, 429, 429])

    def test_lists_and_repeated_keys_are_refused(self):
        example = self.start()
        self.assertEqual(example.get(headers=[("X-API-Key", "bad-key")])[0], 403)
        refused = example.get(headers=[("X-API-Key", "a"), ("X-API-Key", "b")])
        self.assertEqual((refused.status, refused.headers["Content-Type"]), (400, "application/problem+json"))
        self.assertEqual(refused.json()["code"], "INVALID_KEY")

    def test_calls_without_a_rule_reach_the_program(self):
        status, headers, _ = self.start().get("/elsewhere")
        self.assertEqual(status, 404)
        self.assertIsNone(headers["X-RateLimit-Limit"])


if __name__ == "__main__":
    unittest.main()
