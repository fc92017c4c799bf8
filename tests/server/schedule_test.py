"""Rules that begin and end by themselves, and new numbers for a share of the callers."""

import time
import unittest
from datetime import datetime, timezone

from support.environment import wait_until
from support.redis_servers import RedisServer
from support.sluice import ServerTest


def timestamp(seconds):
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="milliseconds")


class Schedules(ServerTest):
    def status(self, server, key):
        return server.request("POST", "/api/v1/rate-limit/check", {"attributes": {"api_key": key}}).status

    def expect_an_end(self, store):
        for seconds in (3, 12, 48):  # A busy machine needs longer to get to the denial.
            end = time.time() + seconds
            server = self.serve(
                store=store,
                rules=f"rules: [{{ id: sale{seconds}, algorithm: fixed_window, limit: 1, window: 1d, "
                f"expires_at: '{timestamp(end)}' }}]",
            )
            statuses = [self.status(server, "k") for _ in range(3)]
            if time.time() > end - 1:
                continue
            self.assertEqual(statuses, [200, 429, 429])
            wait_until(lambda: self.status(server, "k") == 200)
            self.assertGreater(time.time(), end - 0.5)
            self.assertEqual([self.status(server, "k") for _ in range(3)], [200, 200, 200])
            return
        self.fail("the machine is too slow")

    def test_a_rule_ends_by_itself_in_memory(self):
        self.expect_an_end(None)

    def test_a_rule_ends_by_itself_in_redis_with_the_denials_that_were_remembered(self):
        with RedisServer() as redis:
            self.expect_an_end(redis.url)

    def test_a_rule_begins_by_itself(self):
        begin = time.time() + 2
        server = self.serve(
            rules=f"rules: [{{ id: later, algorithm: fixed_window, limit: 1, window: 1d, starts_at: '{timestamp(begin)}' }}]"
        )
        wait_until(lambda: self.status(server, "k") == 429)
        self.assertGreaterEqual(time.time(), begin)


class Rollouts(ServerTest):
    RULES = "rules: [{{ id: api, algorithm: fixed_window, limit: 20, window: 1d, rollout: {{ percent: {}, from: 10/d }} }}]"

    def new_callers(self, server):
        callers = set()
        for i in range(60):
            key = f"sk_{i}"
            response = server.request("POST", "/api/v1/rate-limit/check", {"attributes": {"api_key": key}})
            self.assertEqual(response.status, 200)
            self.assertIn(response.json()["limit"], (10, 20))
            if response.json()["limit"] == 20:
                callers.add(key)
        return callers

    def test_all_servers_choose_the_same_callers_and_a_higher_share_only_adds_some(self):
        with RedisServer() as redis:
            few = [self.new_callers(self.serve(store=store, rules=self.RULES.format(30))) for store in (None, redis.url)]
            more = self.new_callers(self.serve(store=redis.url, rules=self.RULES.format(70)))
        self.assertEqual(few[0], few[1])
        self.assertTrue(few[0])
        self.assertLess(few[0], more)
        self.assertLess(len(more), 60)


if __name__ == "__main__":
    unittest.main()
