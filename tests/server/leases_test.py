"""Servers that lease from a real Redis: busy keys are decided from memory, and limits still hold for all."""

import threading
import time
import unittest

from running import Redis, Server, rules_in, until

# It does not refill while a test runs.
HUNDRED = "rules: [{{ id: api, capacity: 100, refill_rate: 1 per day, consistency: leased{} }}]\n"
CHANNEL = "sluice:v1:leases"


class LeasesTest(unittest.TestCase):
    def setUp(self):
        self.redis = Redis()
        self.addCleanup(self.redis.__exit__)
        self.redis.start()

    def serve(self, more="", deadline="30s"):
        path = rules_in(self.redis.folder.name, HUNDRED.format(more))
        return Server("--rules", str(path), "--store", self.redis.url, "--store-deadline", deadline)

    def spend(self, server, calls):
        """How many of them are allowed."""
        return sum(server.check("alice")[0] == 200 for _ in range(calls))

    def await_listeners(self, count):
        told = lambda: self.redis.cli("PUBSUB", "NUMSUB", CHANNEL)[-1]
        self.assertTrue(until(lambda: told() == str(count)))

    def of_rule(self, name):
        return f'rate_limiter_lease_{name}{{rule="api",algorithm="token_bucket"}}'


class TwoServers(LeasesTest):
    def test_together_they_allow_what_the_limit_says(self):
        with self.serve() as one, self.serve() as other:
            allowed = [0, 0]

            def press(i, server):
                allowed[i] = self.spend(server, 150)

            threads = [threading.Thread(target=press, args=each) for each in enumerate((one, other))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            # What lies idle with one comes back to the other, if it asks on. What a server could not spend or give
            # back in time, because the machine was busy, is lost.
            def ask_on():
                allowed[0] += self.spend(one, 1)
                allowed[1] += self.spend(other, 1)
                return sum(allowed) > 80

            self.assertTrue(until(ask_on), allowed)
            total = sum(allowed) + self.spend(one, 30) + self.spend(other, 30)
            self.assertLessEqual(total, 100)
            hits = 'rate_limiter_lease_hits_total{rule="api",algorithm="token_bucket",allowed="true"}'
            self.assertGreater(one.metric(hits) + other.metric(hits), 30)

    def test_a_reset_through_one_reaches_the_other_that_remembers_a_denial(self):
        with self.serve() as one, self.serve() as other:
            self.assertLessEqual(self.spend(one, 101), 100)
            # The longer it is denied, the longer it believes so: up to a second.
            denied_since = time.monotonic()
            while time.monotonic() < denied_since + 2:
                if self.spend(other, 1):
                    denied_since = time.monotonic()
            self.await_listeners(2)
            self.assertEqual(one.ask("DELETE", "/api/v1/rate-limit/reset?key=alice")[0], 204)
            self.assertTrue(until(lambda: self.spend(other, 1) == 1))

    def test_tokens_that_lie_idle_with_one_are_recalled_when_the_other_needs_them(self):
        with self.serve() as one, self.serve() as other:
            self.assertEqual(self.spend(one, 1), 1)
            held = one.metric(self.of_rule("outstanding_tokens"))
            self.assertGreater(held, 0)
            self.await_listeners(1)
            spent = self.spend(other, 100 - 1 - int(held))
            recalled = self.of_rule("recalled_tokens_total")

            def ask_on():
                nonlocal spent
                spent += self.spend(other, 1)
                return one.metric(recalled) > 0

            self.assertTrue(until(ask_on), spent)
            self.assertGreater(spent, 60)


class RedisFails(LeasesTest):
    def test_what_is_in_hand_is_spent_and_then_the_failure_mode_answers(self):
        with self.serve(", on_store_failure: closed", "1s") as server:
            self.assertEqual(self.spend(server, 1), 1)
            held = int(server.metric(self.of_rule("outstanding_tokens")))
            self.redis.pause()
            answers = [server.check("alice") for _ in range(held)]
            self.assertTrue(all("X-RateLimit-Degraded" not in headers for _, headers, _ in answers))
            self.assertEqual({status for status, _, _ in answers}, {200})
            self.assertEqual(server.check("alice")[0], 503)
            self.redis.resume()
            self.assertTrue(until(lambda: server.check("alice")[0] == 200))

    def test_a_local_rule_goes_on_from_what_was_left(self):
        with self.serve(", on_store_failure: local", "250ms") as server:
            self.assertEqual(self.spend(server, 90), 90)
            self.redis.process.kill()
            self.redis.process.wait()
            more = self.spend(server, 60)
            self.assertLessEqual(more, 10)
            self.assertGreater(more, 0)
            self.assertIn("X-RateLimit-Degraded", server.check("alice")[1])


if __name__ == "__main__":
    unittest.main()
