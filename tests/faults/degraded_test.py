"""Servers without Redis: their decisions, health, metrics and logs."""

import re
import time
import unittest

from faults import servers_on

from support.environment import wait_until
from support.redis_servers import RedisServer
from support.sluice import ServerTest
from support.tcp_proxy import TcpProxy

LIMIT = 10
RULES = f"""
defaults: {{ algorithm: fixed_window, window: 30d, limit: {LIMIT} }}
rules:
  - {{ id: open, match: {{ api_key: "open-*" }} }}
  - {{ id: local, match: {{ api_key: "local-*" }}, on_store_failure: local }}
"""


def count_allowed(server, key, calls=30):
    return sum(server.check(key)[0] == 200 for _ in range(calls))


def knows_peers(server, count):
    return any(re.search(rf"servers=\"?{count}\b", line) for line in server.log_lines("peer count changed"))


class Degraded(ServerTest):
    def test_servers_without_redis_divide_a_local_limit_among_them(self):
        with RedisServer() as redis, servers_on(redis.url, 3, RULES) as servers:
            for server in servers:
                wait_until(lambda server=server: knows_peers(server, 3), "it knows its peers")
            redis.kill()
            allowed = [count_allowed(server, "local-alice") for server in servers]
            self.assertEqual(allowed, [LIMIT // 3] * 3)
            self.assertEqual(count_allowed(servers[0], "open-alice"), 30)

    def test_how_many_servers_there_are_can_be_set(self):
        with RedisServer() as redis:
            redis.kill()
            with self.serve("--failover-servers", "5", store=redis.url, store_deadline="50ms", rules=RULES) as server:
                self.assertEqual(count_allowed(server, "local-alice"), 2)

    def test_open_rules_can_have_a_limit_for_the_emergency(self):
        with RedisServer() as redis:
            flags = ("--failover-calls-per-second", "1")
            with self.serve(*flags, store=redis.url, store_deadline="400ms", rules=RULES) as server:
                self.assertEqual(count_allowed(server, "open-alice"), LIMIT, "with Redis the rule counts")
                redis.kill()
                began = time.monotonic()
                allowed = count_allowed(server, "open-bob", calls=10)
                self.assertLessEqual(allowed, 2 + time.monotonic() - began)
                self.assertGreater(allowed, 0)

    def test_a_caller_may_wait_for_less_long_than_the_server_would(self):
        with RedisServer() as redis:
            with self.serve(store=redis.url, store_deadline="60s", rules=RULES) as server:
                self.assertEqual(server.check("open-alice")[0], 200)
                redis.pause()
                target = "/api/v1/rate-limit/check?key=open-alice"
                began = time.monotonic()
                _, headers, _ = server.request("GET", target, headers={"X-Request-Timeout-Ms": "20"})
                self.assertLess(time.monotonic() - began, 30)
                self.assertIn("X-RateLimit-Degraded", headers)
                redis.resume()
                _, headers, _ = server.request("GET", target, headers={"X-Request-Timeout-Ms": "soon"})
                self.assertNotIn("X-RateLimit-Degraded", headers)

    def test_short_timeouts_let_nothing_pass_that_is_known_to_be_denied(self):
        with RedisServer() as redis, TcpProxy(redis.port) as proxy:
            store = f"redis://127.0.0.1:{proxy.port}"
            with self.serve(store=store, store_deadline="60s", rules=RULES) as server:
                self.assertEqual(count_allowed(server, "open-alice"), LIMIT)
                proxy.delay = 0.05
                target = "/api/v1/rate-limit/check?key=open-alice"
                hurried = {"X-Request-Timeout-Ms": "1"}
                statuses = [server.request("GET", target, headers=hurried)[0] for _ in range(30)]
                self.assertEqual(statuses, [429] * 30)
                as_a_client = {"X-Forwarded-Method": "GET", "X-Forwarded-Uri": "/", "X-API-Key": "open-bob", **hurried}
                statuses = [server.request("GET", "/v1/auth", headers=as_a_client)[0] for _ in range(LIMIT + 2)]
                self.assertEqual(statuses, [200] * LIMIT + [429] * 2)
                self.assertEqual(server.metric("rate_limiter_redis_breaker_opened_total"), 0)
                self.assertGreater(server.metric("rate_limiter_remembered_denials_total"), 0)

    def test_it_stays_ready_and_reports_the_failure(self):
        with RedisServer() as redis, servers_on(redis.url, 1, RULES) as (server,):
            wait_until(lambda: "[+] redis ok" in server.request("GET", "/readyz?verbose").text)
            self.assertEqual(server.request("GET", "/actuator/health").json()["status"], "UP")
            redis.kill()

            def breaker_is_open():
                server.check("open-alice")
                return server.metric("rate_limiter_redis_breaker_state", state="open") > 0

            wait_until(breaker_is_open)
            self.assertGreater(server.metric("rate_limiter_redis_breaker_opened_total"), 0)
            status, _, text = server.request("GET", "/readyz?verbose")
            self.assertEqual(status, 200)
            self.assertIn("[-] redis failed", text)
            self.assertIn("circuit breakers that are not closed", text)
            health = server.request("GET", "/actuator/health")
            self.assertEqual((health.status, health.json()["status"]), (200, "DEGRADED"))
            self.assertTrue(server.log_lines("circuit breaker of Redis", "to=open"))
            redis.start()
            wait_until(lambda: "X-RateLimit-Degraded" not in server.check("open-alice").headers)


if __name__ == "__main__":
    unittest.main()
