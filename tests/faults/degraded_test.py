"""What servers do while Redis is gone, and what they say about it."""

import json
import re
import time
import unittest

from faults import servers_on
from places import Single
from running import Server, rules_in, until

LIMIT = 10
RULES = f"""
defaults: {{ algorithm: fixed_window, window: 30d, limit: {LIMIT} }}
rules:
  - {{ id: open, match: {{ api_key: "open-*" }} }}
  - {{ id: local, match: {{ api_key: "local-*" }}, on_store_failure: local }}
"""


def count_allowed(server, key, calls=30):
    return sum(server.check(key)[0] == 200 for _ in range(calls))


def hears_of(server, count):
    return any(re.search(rf"servers at this Redis.*servers=\"?{count}\b", line) for line in server.log)


class Degraded(unittest.TestCase):
    def test_servers_without_redis_divide_a_local_limit_among_them(self):
        with Single() as place, servers_on(place.url, 3, RULES) as servers:
            for server in servers:
                self.assertTrue(until(lambda server=server: hears_of(server, 3)), "it does not hear of the others")
            place.server.kill()
            allowed = [count_allowed(server, "local-alice") for server in servers]
            self.assertEqual(allowed, [LIMIT // 3] * 3)
            self.assertEqual(count_allowed(servers[0], "open-alice"), 30)

    def test_how_many_servers_there_are_can_be_set(self):
        with Single() as place:
            path = rules_in(place.server.folder.name, RULES)
            place.server.kill()
            with Server("--rules", str(path), "--store", place.url, "--failover-servers", "5") as server:
                self.assertEqual(count_allowed(server, "local-alice"), 2)

    def test_open_rules_can_have_a_limit_for_the_emergency(self):
        with Single() as place:
            path = rules_in(place.server.folder.name, RULES)
            flags = ("--rules", str(path), "--store", place.url, "--failover-calls-per-second", "1")
            with Server(*flags) as server:
                self.assertEqual(count_allowed(server, "open-alice"), LIMIT, "with Redis the rule counts")
                place.server.kill()
                began = time.monotonic()
                allowed = count_allowed(server, "open-bob")
                self.assertLessEqual(allowed, 2 + time.monotonic() - began)
                self.assertGreater(allowed, 0)

    def test_a_caller_may_wait_for_less_long_than_the_server_would(self):
        with Single() as place:
            path = rules_in(place.server.folder.name, RULES)
            with Server("--rules", str(path), "--store", place.url, "--store-deadline", "60s") as server:
                self.assertEqual(server.check("open-alice")[0], 200)
                place.server.pause()
                target = "/api/v1/rate-limit/check?key=open-alice"
                began = time.monotonic()
                _, headers, _ = server.ask("GET", target, headers={"X-Request-Timeout-Ms": "20"})
                self.assertLess(time.monotonic() - began, 30)
                self.assertIn("X-RateLimit-Degraded", headers)
                place.server.resume()
                _, headers, _ = server.ask("GET", target, headers={"X-Request-Timeout-Ms": "soon"})
                self.assertNotIn("X-RateLimit-Degraded", headers)

    def test_it_stays_ready_and_tells_what_is_amiss(self):
        with Single() as place, servers_on(place.url, 1, RULES) as (server,):
            self.assertTrue(until(lambda: "[+] redis ok" in server.ask("GET", "/readyz?verbose")[2]))
            self.assertEqual(json.loads(server.ask("GET", "/actuator/health")[2])["status"], "UP")
            place.server.kill()
            open_series = 'rate_limiter_redis_breaker_state{state="open"}'

            def breaker_is_open():
                server.check("open-alice")
                return server.metric(open_series) > 0

            self.assertTrue(until(breaker_is_open))
            self.assertGreater(server.metric("rate_limiter_redis_breaker_opened_total"), 0)
            status, _, text = server.ask("GET", "/readyz?verbose")
            self.assertEqual(status, 200)
            self.assertIn("[-] redis failed", text)
            self.assertIn("circuit breakers that are not closed", text)
            status, _, text = server.ask("GET", "/actuator/health")
            self.assertEqual((status, json.loads(text)["status"]), (200, "DEGRADED"))
            self.assertTrue(any("circuit breaker of Redis" in line and "to=open" in line for line in server.log))
            place.server.start()
            self.assertTrue(until(lambda: "X-RateLimit-Degraded" not in server.check("open-alice")[1]))


if __name__ == "__main__":
    unittest.main()
