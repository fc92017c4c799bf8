"""What operators ask about keys: lookup, lists, resets by selector, the store. On memory, on Redis and on a cluster."""

import unittest
import urllib.parse

from support.environment import scaled, wait_until
from support.redis_servers import Cluster, RedisServer, Sentinel
from support.sluice import ServerTest

RULES = """
rules:
  - { id: api, algorithm: fixed_window, limit: 100, window: 1d }
  - { id: reports, match: { endpoint: /reports }, per: [api_key, endpoint], algorithm: sliding_window_log, limit: 10, window: 1d }
  - { id: hourly, match: { plan: gold }, algorithm: token_bucket, limit: 1000/day, consistency: leased }
"""


def check(server, key, **attributes):
    response = server.request("POST", "/api/v1/rate-limit/check", {"attributes": {"api_key": key, **attributes}})
    assert response.status in (200, 429), response
    return response


def lookup(server, key, **attributes):
    response = server.request("POST", "/admin/v1/keys:lookup", {"attributes": {"api_key": key, **attributes}})
    assert response.status == 200, response
    return {limit["rule"]: limit for limit in response.json()["limits"]}


def list_keys(server, **parameters):
    """All keys, page by page, as (rule, key)."""
    found, cursor = [], None
    while True:
        query = urllib.parse.urlencode(parameters | ({"cursor": cursor} if cursor else {}))
        response = server.request("GET", f"/admin/v1/keys?{query}")
        assert response.status == 200, response
        page = response.json()
        found += [(key["rule"], key["key"]) for key in page["keys"]]
        cursor = page["cursor"]
        if cursor is None:
            return found


def reset(server, **selector):
    """Runs a reset by selector to its end."""
    response = server.request("POST", "/admin/v1/resets", selector)
    assert response.status == 202, response
    path = f"/admin/v1/resets/{response.json()['id']}"
    return wait_until(lambda: (job := server.request("GET", path).json())["state"] != "running" and job)


class Keys:
    """The same on every store."""

    def test_a_lookup_shows_every_limit_and_consumes_nothing(self):
        server = self.start()
        check(server, "alice", endpoint="/reports")
        check(server, "alice", endpoint="/reports")
        for _ in range(3):
            limits = lookup(server, "alice", endpoint="/reports")
            self.assertEqual(set(limits), {"api", "reports"})
            self.assertEqual((limits["api"]["used"], limits["api"]["remaining"]), (2, 98))
            self.assertEqual((limits["reports"]["used"], limits["reports"]["remaining"]), (2, 8))
            self.assertEqual(limits["reports"]["others"], ["/reports"])
        self.assertIsNotNone(limits["api"]["first_seen"])
        self.assertLessEqual(limits["api"]["first_seen"], limits["api"]["last_seen"])
        self.assertFalse(lookup(server, "nobody")["api"]["live"])

    def test_the_list_has_every_live_key_and_prefixes_are_literal(self):
        server = self.start()
        hostile = ["a*b", "a?b", "a[b]c", "a\\b", "axb", "ä{}b", "a%2Ab", "a:b", "x" * 256]
        for key in hostile:
            check(server, key)
        for i in range(scaled(300)):
            check(server, f"user:{i}")
        check(server, "user:1", endpoint="/reports")
        keys = list_keys(server, limit=20)
        names = [key for rule, key in keys if rule == "api"]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(len(names), len(hostile) + scaled(300))
        self.assertEqual(set(hostile[:-1]) - set(names), set())
        self.assertEqual(list_keys(server, prefix="a*"), [("api", "a*b")])
        self.assertEqual(list_keys(server, prefix="a["), [("api", "a[b]c")])
        self.assertEqual(list_keys(server, prefix="ä{"), [("api", "ä{}b")])
        self.assertEqual(list_keys(server, prefix="a\\"), [("api", "a\\b")])
        self.assertEqual(list_keys(server, rule="reports"), [("reports", "user:1")])
        self.assertEqual(list_keys(server, rule="*"), [])
        self.assertEqual(list_keys(server, prefix="sha256:")[0][0], "api")

    def test_a_cursor_that_was_made_up_is_refused_or_harmless(self):
        server = self.start()
        check(server, "alice")
        for cursor in ["0", "x", "0.1.8.16-00", "0.1.99999999.99999999", "zzz/0", "/", "a/b/c/-1"]:
            query = urllib.parse.urlencode({"cursor": cursor})
            response = server.request("GET", f"/admin/v1/keys?{query}")
            self.assertIn(response.status, (200, 400), (cursor, response))
        self.assertEqual(list_keys(server), [("api", "alice")])

    def test_a_reset_by_selector_counts_first_and_then_resets_what_matches(self):
        server = self.start()
        for i in range(scaled(500)):
            check(server, f"user:{i}")
        check(server, "other")
        preview = server.request("POST", "/admin/v1/resets", {"rule": "api", "prefix": "user:", "dry_run": True}).json()
        self.assertEqual(preview["count"], scaled(500))
        self.assertTrue(preview["complete"])
        self.assertEqual(len(preview["sample"]), min(20, scaled(500)))
        self.assertEqual(lookup(server, "user:1")["api"]["used"], 1)
        job = reset(server, rule="api", prefix="user:")
        self.assertEqual((job["state"], job["reset"], job["error"]), ("done", scaled(500), None))
        self.assertEqual(lookup(server, "user:1")["api"]["used"], 0)
        self.assertEqual(lookup(server, "other")["api"]["used"], 1)
        self.assertEqual(reset(server, match="oth?r")["reset"], 1)
        self.assertEqual(list_keys(server), [])
        self.assertTrue(server.log_lines("reset by selector ended"))

    def test_a_denied_caller_passes_after_a_reset_by_selector(self):
        server = self.start()
        for _ in range(20):
            check(server, "eve", endpoint="/reports")
        self.assertEqual(check(server, "eve", endpoint="/reports").status, 429)
        self.assertEqual(reset(server, rule="reports", prefix="eve")["state"], "done")
        self.assertEqual(check(server, "eve", endpoint="/reports").status, 200)

    def test_a_reset_of_leased_keys_lets_them_be_used_again(self):
        server = self.start()
        for _ in range(5):
            check(server, "gold", plan="gold")
        limit = lookup(server, "gold", plan="gold")["hourly"]
        self.assertEqual(limit["used"] + limit["leased"] + limit["remaining"], 1000)
        job = reset(server, rule="hourly", prefix="gold")
        self.assertEqual(job["state"], "done")
        limit = lookup(server, "gold", plan="gold")["hourly"]
        self.assertEqual(limit["leased"] + limit["remaining"], 1000)

    def test_a_key_that_is_gone_when_its_turn_comes_does_not_matter(self):
        server = self.start()
        check(server, "alice")
        self.assertEqual(server.request("DELETE", "/api/v1/rate-limit/reset?key=alice").status, 204)
        job = reset(server, prefix="alice")
        self.assertEqual((job["state"], job["reset"]), ("done", 0))

    def test_usage_is_for_the_caller_itself(self):
        server = self.start()
        check(server, "alice")
        response = server.request("GET", "/v1/usage", headers=[("X-API-Key", "alice")])
        self.assertEqual(response.status, 200)
        (limit,) = response.json()["limits"]
        self.assertEqual((limit["rule"], limit["limit"], limit["remaining"]), ("api", 100, 99))

    def test_the_store_reports_on_itself(self):
        server = self.start()
        check(server, "alice")
        self.check_store(server.request("GET", "/admin/v1/store").json())


class OnMemory(Keys, ServerTest):
    def start(self, *flags):
        return self.serve(*flags, rules=RULES)

    def check_store(self, store):
        self.assertEqual((store["kind"], store["redis"]), ("memory", []))
        self.assertEqual((store["memory"]["keys"], store["memory"]["named_keys"]), (1, 1))

    def test_without_a_directory_of_names_the_list_says_that_it_is_not_complete(self):
        server = self.start("--memory-names-bytes", 0)
        check(server, "alice")
        page = server.request("GET", "/admin/v1/keys").json()
        self.assertEqual((page["keys"], page["complete"]), ([], False))
        self.assertIsNone(lookup(server, "alice")["api"]["first_seen"])

    def test_a_directory_that_is_too_small_says_so_and_keeps_the_denied(self):
        server = self.start("--memory-names-bytes", 65536)
        for _ in range(40):
            check(server, "denied", endpoint="/reports")
        self.assertTrue(server.request("GET", "/admin/v1/keys").json()["complete"])
        for i in range(3000):
            check(server, f"flood:{i}")
            if i % 50 == 0:
                for _ in range(6):
                    check(server, "denied", endpoint="/reports")
        self.assertFalse(server.request("GET", "/admin/v1/keys").json()["complete"])
        self.assertIn(("reports", "denied"), list_keys(server, prefix="denied"))


class OnRedis(Keys, ServerTest):
    def setUp(self):
        self.redis = self.enterContext(RedisServer())

    def start(self, *flags):
        return self.serve(*flags, rules=RULES, store=self.redis.url)

    def check_store(self, store):
        self.assertEqual((store["kind"], store["memory"]), ("redis", None))
        (node,) = store["redis"]
        self.assertIsNone(node["error"])
        self.assertEqual(node["role"], "master")
        self.assertGreaterEqual(node["keys"], 1)
        self.assertGreater(node["used_bytes"], 0)
        self.assertEqual((node["evicted_keys"], node["replicas"]), (0, []))
        self.assertIsNotNone(node["clock_offset_ms"])

    def test_other_keys_in_redis_stay_and_are_not_listed(self):
        server = self.start()
        for name in ["alice", "sluice:v1:control:{default}:current", "sluice:v2:{alice}:api:default:", "sluice:v1:{a"]:
            self.redis.send("SET", name, "x")
        check(server, "alice")
        self.assertEqual(list_keys(server), [("api", "alice")])
        self.assertEqual(reset(server, all=True)["state"], "done")
        self.assertEqual(self.redis.send("GET", "alice"), "x")
        self.assertEqual(self.redis.send("GET", "sluice:v1:control:{default}:current"), "x")

    def test_a_job_whose_redis_dies_fails_and_says_so(self):
        server = self.start()
        for i in range(50):
            check(server, f"user:{i}")
        server.exit_codes = (0, 1)  # An audit record may still wait for Redis.
        self.redis.kill()
        response = server.request("POST", "/admin/v1/resets", {"prefix": "user:"})
        self.assertEqual(response.status, 202)
        path = f"/admin/v1/resets/{response.json()['id']}"
        self.assertEqual(server.request("POST", "/admin/v1/resets", {"prefix": "x"}).json()["code"], "RESET_RUNNING")
        job = wait_until(lambda: (job := server.request("GET", path).json())["state"] != "running" and job)
        self.assertEqual(job["state"], "failed")
        self.assertTrue(job["error"])
        (node,) = server.request("GET", "/admin/v1/store").json()["redis"]
        self.assertTrue(node["error"])
        self.assertEqual(server.request("GET", "/admin/v1/keys").status, 503)
        self.assertEqual(server.request("GET", "/livez").status, 200)

    def test_a_job_that_waits_for_redis_can_be_canceled(self):
        server = self.start()
        check(server, "alice")
        server.exit_codes = (0, 1)  # An audit record may still wait for Redis.
        self.redis.kill()
        job = server.request("POST", "/admin/v1/resets", {"prefix": "a"}).json()
        path = f"/admin/v1/resets/{job['id']}"
        self.assertEqual(server.request("DELETE", path).status, 200)
        job = wait_until(lambda: (job := server.request("GET", path).json())["state"] != "running" and job)
        self.assertIn(job["state"], ("canceled", "failed"))


class BehindSentinels(ServerTest):
    def test_the_report_is_about_the_primary_of_the_moment(self):
        with Sentinel() as sentinel:
            server = self.serve(rules=RULES, store=sentinel.url)
            check(server, "alice")

            def nodes():
                return server.request("GET", "/admin/v1/store").json()["redis"]

            (node,) = nodes()
            self.assertEqual((node["error"], node["role"]), (None, "master"), node)
            self.assertEqual([replica["state"] for replica in node["replicas"]], ["online"])
            self.assertEqual(list_keys(server), [("api", "alice")])
            sentinel.primary.kill()
            wait_until(sentinel.accepts_writes)
            # The one that was promoted has no replica.
            wait_until(lambda: [(node["error"], node["role"], node["replicas"]) for node in nodes()]
                       == [(None, "master", [])], nodes)  # fmt: skip


class OnACluster(Keys, ServerTest):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()
        cls.cluster.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def setUp(self):
        for node in self.cluster.primaries:
            node.send("FLUSHALL")

    def start(self, *flags):
        return self.serve(*flags, rules=RULES, store=self.cluster.url)

    def check_store(self, store):
        self.assertEqual(len(store["redis"]), 3)
        self.assertEqual([node["error"] for node in store["redis"]], [None] * 3)
        self.assertTrue(all(len(node["replicas"]) == 1 for node in store["redis"]), store)


if __name__ == "__main__":
    unittest.main()
