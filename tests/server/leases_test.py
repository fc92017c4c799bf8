"""Servers that lease from a real Redis: busy keys are decided from memory, and limits still hold for all."""

import time
import unittest

from support.environment import run_in_parallel, wait_until
from support.redis_servers import RedisServer
from support.sluice import ServerTest

# It does not refill while a test runs.
HUNDRED = "rules: [{{ id: api, capacity: 100, refill_rate: 1 per day, consistency: leased{} }}]\n"
CHANNEL = "sluice:v1:leases"


class LeasesTest(ServerTest):
    def setUp(self):
        self.redis = self.enterContext(RedisServer())

    def start(self, more="", deadline="30s"):
        return self.serve(store=self.redis.url, store_deadline=deadline, rules=HUNDRED.format(more))

    def spend(self, server, calls):
        """How many of them are allowed."""
        return sum(server.check("alice")[0] == 200 for _ in range(calls))

    def await_listeners(self, count):
        wait_until(lambda: self.redis.send("PUBSUB", "NUMSUB", CHANNEL)[-1] == str(count))

    def lease_metric(self, server, name, **labels):
        return server.metric(f"rate_limiter_lease_{name}", rule="api", algorithm="token_bucket", **labels)


    def lease(self, server):
        """Calls until the server holds tokens: the key must be in demand. Returns what was spent, and what is held."""
        spent = held = 0

        def holds_tokens():
            nonlocal spent, held
            spent += self.spend(server, 4)
            held = int(self.lease_metric(server, "outstanding_tokens"))
            return held > 0

        wait_until(holds_tokens)
        return spent, held


class TwoServers(LeasesTest):
    def test_together_they_allow_what_the_limit_says(self):
        with self.start() as one, self.start() as other:
            allowed = run_in_parallel(self.spend, (one, 150), (other, 150))

            # What lies idle with one comes back to the other, if it asks on. What a server could not spend or give
            # back in time, because the machine was busy, is lost.
            def ask_on():
                allowed[0] += self.spend(one, 1)
                allowed[1] += self.spend(other, 1)
                return sum(allowed) > 80

            wait_until(ask_on, allowed)
            total = sum(allowed) + self.spend(one, 30) + self.spend(other, 30)
            self.assertLessEqual(total, 100)
            hits = [self.lease_metric(server, "hits_total", allowed="true") for server in (one, other)]
            self.assertGreater(sum(hits), 30)

    def test_a_reset_through_one_reaches_the_other_that_remembers_a_denial(self):
        with self.start() as one, self.start() as other:
            self.assertLessEqual(self.spend(one, 101), 100)
            # The longer it is denied, the longer it believes so: up to a second.
            denied_since = time.monotonic()
            while time.monotonic() < denied_since + 2:
                if self.spend(other, 1):
                    denied_since = time.monotonic()
            self.await_listeners(2)
            self.assertEqual(one.request("DELETE", "/api/v1/rate-limit/reset?key=alice")[0], 204)
            wait_until(lambda: self.spend(other, 1) == 1)

    def test_tokens_that_lie_idle_with_one_are_recalled_when_the_other_needs_them(self):
        with self.start() as one, self.start() as other:
            spent_first, held = self.lease(one)
            self.await_listeners(1)
            spent = self.spend(other, 100 - spent_first - held)

            def ask_on():
                nonlocal spent
                spent += self.spend(other, 1)
                return self.lease_metric(one, "recalled_tokens_total") > 0

            wait_until(ask_on, spent)
            self.assertGreater(spent_first + spent, 60)


class RedisFails(LeasesTest):
    def test_what_is_in_hand_is_spent_and_then_the_failure_mode_answers(self):
        with self.start(", on_store_failure: closed", "1s") as server:
            _, held = self.lease(server)
            self.redis.pause()
            answers = [server.check("alice") for _ in range(held)]
            self.assertTrue(all("X-RateLimit-Degraded" not in headers for _, headers, _ in answers))
            self.assertEqual({status for status, _, _ in answers}, {200})
            self.assertEqual(server.check("alice")[0], 503)
            self.redis.resume()
            wait_until(lambda: server.check("alice")[0] == 200)

    def test_a_local_rule_goes_on_from_what_was_left(self):
        with self.start(", on_store_failure: local", "400ms") as server:
            self.assertEqual(self.spend(server, 90), 90)
            self.redis.kill()
            more = self.spend(server, 60)
            self.assertLessEqual(more, 10)
            self.assertGreater(more, 0)
            self.assertIn("X-RateLimit-Degraded", server.check("alice")[1])


if __name__ == "__main__":
    unittest.main()
