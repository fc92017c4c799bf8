"""Penalties of the binary named by SLUICE: callers that a rule keeps denying, on one server and on several."""

import json
import unittest
import urllib.parse

from support import resp
from support.control import ControlTest
from support.environment import TIMEOUT, run_in_parallel, wait_until
from support.redis_servers import RedisServer

JSON = {"Content-Type": "application/json"}


def document(penalty="after: { denials: 5, within: 1m }, steps: [1h, 2h]", rule="per: api_key", more=""):
    return f"""
rules:
  - {{ id: calls, {rule}, algorithm: fixed_window, limit: 3, window: 1d, penalty: {{ {penalty} }} }}
  - {{ id: other, match: {{ endpoint: /other }}, limit: 1000/s }}
{more}
"""


class PenaltiesTest(ControlTest):
    def start(self, rules, **options):
        return self.serve("--state-dir", self.folder / "state", rules=rules, **options)

    def check(self, server, **attributes):
        return server.request("GET", f"/api/v1/rate-limit/check?{urllib.parse.urlencode(attributes)}")

    def penalties(self, server):
        response = server.request("GET", "/admin/v1/entries?origin=penalty")
        self.assertEqual(response.status, 200, response.text)
        return response.json()["entries"]

    def is_blocked(self, server, **attributes):
        return self.check(server, **attributes).json().get("code") in ("TEMPORARILY_BLOCKED", "BLOCKED")

    def wait_for_block(self, server, **attributes):
        """Calls until the caller is blocked. Returns the answer."""
        wait_until(lambda: self.is_blocked(server, **attributes),
                   lambda: f"{self.check(server, **attributes).text} {self.penalties(server)}")
        return self.check(server, **attributes)


class OneServer(PenaltiesTest):
    def test_a_caller_that_does_not_stop_is_blocked_and_the_entry_explains_it(self):
        server = self.start(document())
        self.assertEqual([self.check(server, api_key="bad").status for _ in range(4)], [200, 200, 200, 429])
        answer = self.wait_for_block(server, api_key="bad", endpoint="/other")
        self.assertEqual((answer.status, answer.json()["code"]), (429, "TEMPORARILY_BLOCKED"))
        self.assertTrue(3000 < int(answer.headers["Retry-After"]) <= 3600, answer.headers)
        self.assertEqual(self.check(server, api_key="good").status, 200)
        [entry] = self.penalties(server)
        self.assertEqual((entry["match"], entry["rule"], entry["effect"]), ({"api_key": "bad"}, "calls", "block"))
        self.assertEqual((entry["reason"], entry["author"]), ("5 denials within 1m by rule calls", "sluice"))
        self.assertEqual((entry["penalty"]["step"], entry["penalty"]["offenses"]), (1, 1))
        self.assertEqual(resp.call(server.resp, "SLUICE.CHECK", "api_key", "bad", timeout=TIMEOUT)[0], "0")
        self.assertEqual(server.metric("rate_limiter_penalties_total", mode="enforced"), 1)
        self.assertGreaterEqual(server.metric("rate_limiter_penalized_calls_total", mode="enforced"), 2)
        wait_until(lambda: server.metric("rate_limiter_penalty_entries") == 1)
        self.assertGreaterEqual(server.metric("rate_limiter_penalty_strikes_total"), 5)
        self.assertEqual(server.metric("rate_limiter_penalties_failed_total"), 0)
        # Denials while it is blocked change nothing.
        for _ in range(30):
            self.check(server, api_key="bad")
        self.assertEqual(self.penalties(server)[0]["penalty"], entry["penalty"])

    def test_it_survives_a_restart_and_an_operator_ends_it(self):
        server = self.start(document())
        self.wait_for_block(server, api_key="bad")
        [entry] = self.penalties(server)
        server.stop()
        server = self.start(document())
        self.assertTrue(self.is_blocked(server, api_key="bad"))
        path = f"/admin/v1/entries/{urllib.parse.quote(entry['id'], safe='')}"
        self.assertEqual(server.request("GET", path).json()["penalty"], entry["penalty"])
        body = json.dumps({"match": {"api_key": "x"}, "effect": "allow"})
        self.assert_problem(server.request("PUT", path, body, JSON), 400, "INVALID_FIELD")
        self.assertEqual(server.request("DELETE", path).status, 200)
        self.assertFalse(self.is_blocked(server, api_key="bad"))
        self.assertEqual(self.penalties(server), [])
        self.assertEqual(self.audit(server)[0]["action"], "entry.delete")

    def test_allow_list_and_entries_of_operators_win(self):
        server = self.start(document())
        self.wait_for_block(server, api_key="bad")
        body = json.dumps({"match": {"api_key": "bad"}, "effect": "allow"})
        self.assertEqual(server.request("PUT", "/admin/v1/entries/vip", body, JSON).status, 200)
        self.assertEqual(self.check(server, api_key="bad").status, 200)
        self.assertEqual(server.request("DELETE", "/admin/v1/entries/vip").status, 200)
        self.assertTrue(self.is_blocked(server, api_key="bad"))
        for mode in ("shadow", "off"):
            self.assertEqual(server.request("PUT", "/admin/enforcement", {"enforcement": mode}).status, 200)
            self.assertEqual(self.check(server, api_key="bad").status, 200, mode)

    def test_shadow_only_reports(self):
        server = self.start(document("after: { denials: 5, within: 1m }, steps: 1h, shadow: true"))

        def is_reported():
            self.assertNotIn("BLOCKED", self.check(server, api_key="bad").text)
            return server.metric("rate_limiter_penalized_calls_total", mode="shadow") > 0

        wait_until(is_reported)
        self.assertEqual(server.metric("rate_limiter_penalties_total", mode="shadow"), 1)
        self.assertEqual(server.metric("rate_limiter_penalized_calls_total", mode="enforced"), 0)
        self.assertTrue(self.penalties(server)[0]["penalty"]["shadow"])

    def test_a_factor_reduces_the_limits(self):
        more = "  - { id: many, match: { endpoint: /many }, per: api_key, algorithm: fixed_window, limit: 100, window: 1d }"
        server = self.start(document("after: { denials: 5, within: 1m }, steps: 1h, scope: caller, "
                                     "action: { multiply: 0.1 }", rule="match: { endpoint: /few }, per: api_key", more=more))

        def limit():
            self.check(server, api_key="bad", endpoint="/few")
            return self.check(server, api_key="bad", endpoint="/many").headers["X-RateLimit-Limit"]

        wait_until(lambda: limit() == "10")
        self.assertEqual(self.check(server, api_key="good", endpoint="/many").headers["X-RateLimit-Limit"], "100")

    def test_a_caller_without_a_key_is_its_address_and_keys_there_stay_free(self):
        server = self.start(document("after: { denials: 5, within: 1m }, steps: 1h, scope: caller, status: 403",
                                     rule="match: { endpoint: /x }", more='known_keys: ["sk_*"]'))
        answer = self.wait_for_block(server, ip="10.1.1.1", api_key="made-up", endpoint="/x")
        self.assertEqual((answer.status, answer.json()["code"]), (403, "BLOCKED"))
        self.assertTrue(self.is_blocked(server, ip="10.1.1.1", endpoint="/y"))
        self.assertEqual(self.check(server, ip="10.1.1.1", api_key="sk_1", endpoint="/x").status, 200)
        self.assertEqual(self.check(server, ip="10.1.1.2", endpoint="/x").status, 200)

    def test_ignored_backoff_is_an_offense(self):
        server = self.start(document("after: { ignored_backoff: 3, within: 1h }, steps: 1h"))
        self.wait_for_block(server, api_key="bad")
        self.assertEqual(self.penalties(server)[0]["reason"],
                         "3 calls before the time of Retry-After within 1h by rule calls")

    def test_errors_in_the_rules_are_explained(self):
        server = self.start(document())
        response = server.request("GET", "/admin/v1/entries?origin=nobody")
        self.assert_problem(response, 400, "INVALID_PARAMETER")


class Fleet(PenaltiesTest):
    NODES = 4

    def test_an_offender_on_all_nodes_is_blocked_on_all_and_once(self):
        redis = self.enterContext(RedisServer())
        rules = document("after: { denials: 40, within: 1m }, steps: [1h, 2h]")
        servers = [self.serve("--state-dir", self.folder / f"state{i}", rules=rules, store=redis.url)
                   for i in range(self.NODES)]
        for caller in ("first", "second"):
            def call_until_blocked(server, key=caller):
                wait_until(lambda: self.is_blocked(server, api_key=key))

            run_in_parallel(call_until_blocked, *[(server,) for server in servers])
        written = sum(server.metric("rate_limiter_penalties_total", mode="enforced") for server in servers)
        self.assertEqual(written, 2)
        for server in servers:
            self.assertEqual([(entry["penalty"]["step"], entry["penalty"]["offenses"]) for entry in self.penalties(server)],
                             [(1, 1), (1, 1)])
            self.assertEqual(server.metric("rate_limiter_penalties_failed_total"), 0)
        self.assertEqual([record["action"] for record in self.audit(servers[0])].count("entry.put"), 0)
        # An operator ends one of them, on all nodes.
        [entry] = [one for one in self.penalties(servers[1]) if one["match"] == {"api_key": "first"}]
        path = f"/admin/v1/entries/{urllib.parse.quote(entry['id'], safe='')}?wait=20s"
        self.assertEqual(servers[1].request("DELETE", path).status, 200)
        for server in servers:
            self.assertFalse(self.is_blocked(server, api_key="first"))
            self.assertTrue(self.is_blocked(server, api_key="second"))

    def test_the_next_offense_takes_the_next_step(self):
        redis = self.enterContext(RedisServer())
        rules = document("after: { denials: 5, within: 1m }, steps: [1s, 1h], forget: 1h")
        servers = [self.serve("--state-dir", self.folder / f"state{i}", rules=rules, store=redis.url) for i in range(2)]

        def has_second_step():
            for server in servers:
                self.check(server, api_key="bad")
            return [(entry["penalty"]["step"], entry["penalty"]["offenses"])
                    for entry in self.penalties(servers[0])] == [(2, 2)]

        wait_until(has_second_step, lambda: str(self.penalties(servers[0])))


if __name__ == "__main__":
    unittest.main()
