"""Several servers whose rules are in one Redis."""

import concurrent.futures
import hashlib
import signal
import threading
import unittest

from support.control import ControlTest, rules
from support.environment import scaled, wait_until
from support.redis_servers import RedisServer


class Fleet(ControlTest):
    def setUp(self):
        self.redis = self.enterContext(RedisServer())

    def start(self, state, *flags, **options):
        return self.serve_store(*flags, state=state, store=self.redis.url, store_deadline="1s", **options)

    def test_a_change_through_one_server_is_active_on_both(self):
        one, two = self.start("one", rules=rules(3)), self.start("two")
        self.assertEqual(self.limit_of(two), "3")
        answer = self.commit(one, rules(5))
        self.assertEqual((answer["applied"], answer["of"]), (2, 2))
        self.assertEqual((self.limit_of(one), self.limit_of(two)), ("5", "5"))
        self.assertEqual(self.etag(one), self.etag(two))
        self.assertEqual([node["state"] for node in self.nodes(one)], ["ok", "ok"])

    def test_fleets_with_other_namespaces_have_other_rules(self):
        one = self.start("one", "--control-namespace", "blue", rules=rules(3))
        two = self.start("two", "--control-namespace", "green", rules=rules(9))
        self.assertEqual((self.limit_of(one), self.limit_of(two)), ("3", "9"))
        self.assertEqual(len(self.nodes(one)), 1)

    def test_editors_of_different_servers_never_overwrite_each_other(self):
        servers = [self.start("one", rules=rules(3)), self.start("two")]

        def edit(number):
            server = servers[number % 2]
            while True:
                response = self.put(server, rules(10 + number))
                if response.status == 200:
                    return response.json()["version"]
                self.assertIn(response.json()["code"], ("PRECONDITION_FAILED", "BUSY"))

        count = scaled(10)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            versions = set(pool.map(edit, range(count)))
        self.assertEqual(versions, {f"1.{number + 2}" for number in range(count)})
        self.assert_chain(servers[0])

    def test_a_stopped_server_is_listed_as_lagging_and_catches_up(self):
        one, two = self.start("one", rules=rules(3)), self.start("two")
        two.process.send_signal(signal.SIGSTOP)
        try:
            response = self.put(one, rules(5), "?wait=300ms")
            self.assertEqual(response.status, 202, response.text)
            answer = response.json()
            self.assertEqual((answer["applied"], answer["of"], len(answer["lagging"])), (1, 2, 1))
            self.assertEqual(answer["lagging"][0]["version"], "1.1")
        finally:
            two.process.send_signal(signal.SIGCONT)
        self.wait_for_limit(two, 5)
        wait_until(lambda: {node["state"] for node in self.nodes(one)} == {"ok"})

    def test_a_server_that_drains_answers_a_client_that_waits_for_nodes(self):
        one, two = self.start("one", rules=rules(3)), self.start("two")
        two.process.send_signal(signal.SIGSTOP)
        try:
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                waiting = pool.submit(self.put, one, rules(5), "?wait=30s")
                self.wait_for_limit(one, 5)
                self.assertEqual(one.stop(), 0)
                self.assertEqual(waiting.result().status, 202)
        finally:
            two.process.send_signal(signal.SIGCONT)

    def test_decisions_go_on_without_redis_and_changes_are_refused(self):
        document = "rules: [{ id: api, algorithm: fixed_window, limit: 3, window: 1d, on_store_failure: local }]\n"
        server = self.start("one", rules=document)
        self.redis.kill()
        wait_until(lambda: "[-] rules_source failed" in server.request("GET", "/readyz?verbose").text)
        self.assertEqual(server.request("GET", "/readyz").status, 200)
        self.assertEqual(server.check("someone").status, 200)
        self.assert_problem(self.get(server), 503, "CONTROL_STORE_UNAVAILABLE")
        response = self.put(server, rules(5), tag='"1.1-0"')
        self.assert_problem(response, 503, "CONTROL_STORE_UNAVAILABLE")
        wait_until(lambda: server.log_lines("control store failed"))

    def test_a_killed_server_starts_from_its_copy_without_redis(self):
        server = self.start("one", rules=rules(3))
        self.commit(server, rules(5))
        server.kill()
        self.redis.kill()
        server = self.start("one")
        self.assertEqual(server.request("GET", "/readyz").status, 200)
        self.assertIn("last good copy, version 1.2", server.request("GET", "/readyz?verbose").text)
        self.redis.start()
        wait_until(lambda: self.get(server).status == 200)
        self.assertEqual(self.get(server).text, rules(5))

    def test_a_flushed_redis_gets_its_rules_back(self):
        servers = [self.start("one", rules=rules(1000000)), self.start("two")]
        self.commit(servers[0], rules(2000000))
        stop, limits = threading.Event(), set()

        def call():
            while not stop.is_set():
                limits.add(servers[1].check("someone").headers["X-RateLimit-Limit"])

        thread = threading.Thread(target=call)
        thread.start()
        self.redis.send("FLUSHALL")
        wait_until(lambda: self.get(servers[0]).status == 200)
        stop.set()
        thread.join()
        self.assertEqual(limits, {"2000000"})
        newest = self.versions(servers[1])[0]
        self.assertEqual((newest["version"].split(".")[0], newest["source"]), ("2", "recovered"))
        self.assertEqual(self.get(servers[0]).text, rules(2000000))
        wait_until(lambda: {node["state"] for node in self.nodes(servers[0])} == {"ok"})
        self.commit(servers[0], rules(7))
        self.assertEqual(self.limit_of(servers[1]), "7")

    def test_metrics_show_the_version_its_age_and_its_propagation(self):
        one, two = self.start("one", rules=rules(3)), self.start("two")
        self.commit(one, rules(5))
        self.assertEqual(two.metric("rate_limiter_rules_source_up"), 1)
        self.assertEqual(two.metric("rate_limiter_rules_source_epoch"), 1)
        self.assertEqual(two.metric("rate_limiter_rules_source_version"), 2)
        self.assertEqual(two.metric("rate_limiter_rules_propagation_seconds_count"), 1)
        self.assertEqual(two.metric("rate_limiter_rules_source_rejected"), 0)
        self.redis.kill()
        wait_until(lambda: two.metric("rate_limiter_rules_source_failed_reads") >= 3)
        self.assertEqual(two.metric("rate_limiter_rules_source_up"), 0)
        self.assertGreater(two.metric("rate_limiter_rules_source_age_seconds"), 1)

    def test_a_version_that_a_server_can_not_use_is_rejected_and_the_old_one_stays(self):
        server = self.start("one", rules=rules(3))
        self.break_current_version()
        wait_until(lambda: server.metric("rate_limiter_rules_source_rejected") == 1)
        self.assertEqual(self.limit_of(server), "3")
        (node,) = self.nodes(server)
        self.assertEqual((node["state"], node["version"], node["rejected"]), ("rejected", "1.1", "1.2"))
        self.assertIn("no_such_field", node["error"])
        self.assertIn("[-] rules_source failed", server.request("GET", "/readyz?verbose").text)
        self.assertEqual(server.request("POST", "/admin/v1/rules/versions/1.1/restore?wait=20s").status, 200)
        self.assertEqual(server.metric("rate_limiter_rules_source_rejected"), 0)

    def break_current_version(self):
        """Commits a version that this build can't read, as a newer one could."""
        text = "rules: [{ id: api, no_such_field: 1, limit: 3/s }]\n"
        prefix, digest = "sluice:v1:control:{default}:", hashlib.sha256(text.encode()).hexdigest()
        record = self.redis.send("HGET", prefix + "versions", "1.1")
        old = self.redis.send("GET", prefix + "current").split()[2]
        record = record.replace("1.1", "1.2").replace(old, digest)
        self.redis.send("HSET", prefix + "versions", "1.2", record)
        self.redis.send("HSET", prefix + "texts", "1.2", text)
        self.redis.send("RPUSH", prefix + "ids", "1.2")
        self.redis.send("SET", prefix + "current", f"1 1.2 {digest}")

    def test_an_unusable_directory_is_a_warning_with_redis(self):
        (self.folder / "file").write_text("", encoding="utf-8")
        server = self.start("file", rules=rules(3))
        self.assertEqual(self.limit_of(server), "3")
        self.assertTrue(server.log_lines("state_dir can't be used"))


if __name__ == "__main__":
    unittest.main()
