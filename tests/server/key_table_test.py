"""More keys than the store may hold: which limits apply, and what an operator sees of it."""

import unittest

from support.environment import wait_until
from support.redis_servers import RedisServer
from support.resp import encode, read_reply
from support.sluice import ServerTest

FIVE_A_DAY = "rules: [{ id: api, algorithm: fixed_window, limit: 5, window: 1d, per: [api_key] }]\n"
MONTH = 31 * 86400


def throttle_all(server, keys, period=MONTH):
    """The replies to one CL.THROTTLE for each key: errors, or lists of five numbers."""
    with server.connect(server.resp) as client, client.makefile("rb") as stream:
        client.sendall(b"".join(encode("CL.THROTTLE", key, 0, 1, period) for key in keys))
        return [read_reply(stream) for _ in keys]


def is_decision(reply):
    return isinstance(reply, list) and len(reply) == 5


def is_refused(reply):
    return isinstance(reply, str) and reply.startswith("-EXCESSIVE_KEY_CARDINALITY")


def check_own_limit(server, key, seconds):
    limit = {"algorithm": "fixed_window", "limit": 1, "window": seconds}
    return server.request("POST", "/api/v1/rate-limit/check", {"key": key, "limit": limit})


class InMemory(ServerTest):
    def serve(self, *flags, rules=FIVE_A_DAY):
        return super().serve(*flags, rules=rules)

    def test_limits_in_requests_fill_their_part_and_rules_limit_new_keys_as_ever(self):
        with self.serve("--memory-max-keys", "2000") as server:
            replies = throttle_all(server, [f"k{i}" for i in range(3000)])
            self.assertEqual(sum(map(is_decision, replies)), 500)
            self.assertEqual(sum(map(is_refused, replies)), 2500)
            for i in range(20):
                statuses = [server.check(f"new{i}")[0] for _ in range(6)]
                self.assertEqual(statuses, [200] * 5 + [429])
            response = check_own_limit(server, "x", 60)
            self.assertEqual((response.status, response.json()["code"]), (503, "EXCESSIVE_KEY_CARDINALITY"))
            self.assertEqual(throttle_all(server, ["k7"])[0][0], "1", "a known key is limited as ever")

            ready, _, detail = server.request("GET", "/readyz?verbose")
            self.assertEqual(ready, 200)
            self.assertIn("[-] memory failed: ", detail)
            self.assertIn("500 of 500 for limits in requests", detail)
            self.assertEqual(server.metric("rate_limiter_full_store_decisions_total", when_full="refused"), 2501)
            self.assertEqual(server.metric("rate_limiter_request_keys"), 500)
            self.assertEqual(server.metric("rate_limiter_max_request_keys"), 500)
            wait_until(lambda: server.log_lines("memory store full"))

    def test_new_keys_of_a_full_table_share_one_budget(self):
        with self.serve("--memory-max-keys", "100") as server:
            for i in range(100):
                self.assertEqual(server.check(f"held{i}")[0], 200)
            answers = [server.check(f"new{i}") for i in range(30)]
            self.assertEqual([answer.status for answer in answers].count(200), 5)
            self.assertEqual([answer.status for answer in answers].count(429), 25)
            self.assertTrue(all(answer.json()["degraded"] for answer in answers))
            self.assertEqual([server.check("held7")[0] for _ in range(5)], [200] * 4 + [429])
            self.assertIn("[-] memory failed: 101 of 100 keys", server.request("GET", "/readyz?verbose")[2])
            self.assertEqual(server.metric("rate_limiter_full_store_decisions_total", when_full="shared"), 30)

    def test_a_rule_may_say_what_a_full_table_means(self):
        rules = (
            "when_full: closed\n"
            "rules:\n"
            "  - { id: fill, match: { api_key: 'held*' }, limit: 5/day, per: [api_key] }\n"
            "  - { id: closed, match: { api_key: 'c*' }, limit: 5/day, per: [api_key] }\n"
            "  - { id: open, match: { api_key: 'o*' }, limit: 1/day, per: [api_key], when_full: open, on_store_failure: closed }\n"
        )
        with self.serve("--memory-max-keys", "10", rules=rules) as server:
            for i in range(10):
                self.assertEqual(server.check(f"held{i}")[0], 200)
            status, headers, _ = server.check("c1")
            self.assertEqual((status, headers["Retry-After"]), (503, "1"))
            self.assertEqual([server.check("o1")[0] for _ in range(3)], [200] * 3)

    def test_a_limit_in_a_request_must_refill_within_a_month(self):
        with self.serve() as server:
            self.assertRegex(throttle_all(server, ["k"], 3_153_600_000)[0], r"^-ERR .*request_limits\.max_refill_time")
            self.assertTrue(is_decision(throttle_all(server, ["k"])[0]))
            response = check_own_limit(server, "x", MONTH + 1)
            self.assertEqual((response.status, response.json()["code"]), (400, "INVALID_LIMIT"))
            self.assertIn("request_limits.max_refill_time", response.json()["detail"])
            self.assertEqual(check_own_limit(server, "x", MONTH).status, 200)
        with self.serve("--request-limits-max-refill-time", "36500d") as server:
            self.assertTrue(is_decision(throttle_all(server, ["k"], 3_153_600_000)[0]))


class OnRedis(ServerTest):
    def test_each_server_bounds_the_keys_that_limits_in_requests_make(self):
        redis = self.enterContext(RedisServer())
        with self.serve("--request-limits-redis-keys", "200", store=redis.url, rules=FIVE_A_DAY) as server:
            replies = throttle_all(server, [f"k{i}" for i in range(500)])
            self.assertEqual(sum(map(is_decision, replies)), 200)
            self.assertEqual(sum(map(is_refused, replies)), 300)
            self.assertEqual(sum("throttle" in key for key in redis.send("KEYS", "*")), 200)
            response = check_own_limit(server, "x", 60)
            self.assertEqual((response.status, response.json()["code"]), (503, "EXCESSIVE_KEY_CARDINALITY"))
            self.assertEqual(throttle_all(server, ["k7"])[0][0], "1", "a known key is limited as ever")
            self.assertEqual([server.check("new")[0] for _ in range(6)], [200] * 5 + [429])
            self.assertIn("[-] request_keys failed: 200 of 200 keys", server.request("GET", "/readyz?verbose")[2])
            self.assertEqual(server.metric("rate_limiter_request_keys"), 200)
            self.assertEqual(server.redis_cli("DEL", "k7", "k8"), ["2"])
            self.assertTrue(is_decision(throttle_all(server, ["new1"])[0]))


if __name__ == "__main__":
    unittest.main()
