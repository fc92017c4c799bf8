"""Calls that lack an attribute: what becomes of them, and how operators learn of it."""

import unittest

from support.environment import wait_until
from support.redis_servers import RedisServer
from support.sluice import ServerTest

RULES = """
rules:
  - { id: silent, match: { endpoint: /silent }, per: tenant, algorithm: fixed_window, limit: 1, window: 1d }
  - { id: skips, match: { endpoint: /skips }, per: tenant, on_missing: skip, limit: 1/d }
  - { id: denies, match: { endpoint: /denies }, per: tenant, on_missing: deny, limit: 9/d }
  - { id: shares, match: { endpoint: /shares }, per: tenant, on_missing: shared, algorithm: fixed_window,
      limit: 2, window: 1d }
"""


class Attributes(ServerTest):
    def post(self, server, **attributes):
        response = server.request("POST", "/api/v1/rate-limit/check", {"attributes": attributes})
        return response.status, response.json()

    def statuses(self, server, endpoint, calls=3):
        return [self.post(server, endpoint=endpoint, ip="192.0.2.1")[0] for _ in range(calls)]

    def missing(self, server, rule):
        return server.metric("rate_limiter_missing_attributes_total", rule=rule)

    def warnings(self, server):
        return server.log_lines("lacks an attribute")

    def test_a_rule_that_does_not_apply_is_counted_and_warned_of(self):
        server = self.serve(rules=RULES)
        self.assertEqual(self.statuses(server, "/silent"), [200, 200, 200])
        self.assertEqual(self.missing(server, "silent"), 3)
        self.assertEqual(server.metric("rate_limiter_calls_total", protocol="http", outcome="unlimited"), 3)
        wait_until(lambda: self.warnings(server))
        self.statuses(server, "/silent")
        self.assertEqual(len(self.warnings(server)), 1, "at most one a minute")
        self.assertIn("silent", self.warnings(server)[0])

    def test_what_a_rule_says_itself_needs_no_warning(self):
        server = self.serve(rules=RULES)
        self.assertEqual(self.statuses(server, "/skips"), [200, 200, 200])
        self.assertEqual(self.missing(server, "skips"), 3)
        self.assertEqual(server.stop(), 0)
        self.assertEqual(self.warnings(server), [])

    def test_a_rule_may_deny_such_calls(self):
        server = self.serve(rules=RULES)
        status, body = self.post(server, endpoint="/denies", ip="192.0.2.1")
        self.assertEqual((status, body["code"], body["rule"]), (403, "MISSING_ATTRIBUTE", "denies"))
        self.assertEqual(self.post(server, endpoint="/denies", tenant="a")[0], 200)
        self.assertEqual(self.missing(server, "denies"), 1)
        reply = server.redis_cli("SLUICE.CHECK", "endpoint", "/denies")
        self.assertEqual((reply[0], reply[3], reply[5]), ("0", "-1", "denies"))

    def test_such_calls_may_share_a_budget_in_memory_and_in_redis(self):
        with RedisServer() as redis:
            for store in (None, redis.url):
                server = self.serve(store=store, rules=RULES)
                self.assertEqual(self.statuses(server, "/shares"), [200, 200, 429], store)
                self.assertEqual(self.post(server, endpoint="/shares", tenant="shares")[0], 200)
                self.assertEqual(self.missing(server, "shares"), 3)

    def test_checks_without_an_identity_are_counted_by_their_peer_and_warned_of_once(self):
        server = self.serve(rules="rules: [{ id: client, algorithm: fixed_window, limit: 2, window: 1d }]")
        for status in (200, 200, 429):
            self.assertEqual(self.post(server, endpoint="/a")[0], status)
        self.assertEqual(self.post(server, endpoint="/a", ip="192.0.2.1")[0], 200)
        self.assertEqual(self.post(server, endpoint="/a", ip="")[0], 429, "empty is as good as absent")
        wait_until(lambda: server.log_lines("address of its peer"))
        self.assertEqual(len(server.log_lines("address of its peer")), 1)

    def test_checks_without_an_identity_can_be_refused(self):
        server = self.serve("--identity-required", "true", rules="rules: [{ id: client, limit: 9/d }]")
        status, body = self.post(server, endpoint="/a")
        self.assertEqual((status, body["code"]), (400, "NO_IDENTITY"))
        response = server.request("GET", "/api/v1/rate-limit/check?endpoint=/a")
        self.assertEqual((response.status, response.json()["code"]), (400, "NO_IDENTITY"))
        body = {"checks": [{"attributes": {"user": "alice"}}]}
        self.assertEqual(server.request("POST", "/api/v1/rate-limit/check", body)[0], 400)
        self.assertIn("NO_IDENTITY", server.redis_cli("SLUICE.CHECK", "endpoint", "/a")[0])
        for known in ({"ip": "192.0.2.1"}, {"api_key": "k"}):
            self.assertEqual(self.post(server, endpoint="/a", **known)[0], 200)
        self.assertEqual(server.check("k")[0], 200)
        self.assertEqual(server.redis_cli("SLUICE.CHECK", "api_key", "k")[0], "1")


if __name__ == "__main__":
    unittest.main()
