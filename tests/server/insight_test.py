"""What operators see of recent calls: consumers, denials, ids of denials, the decision log, time series."""

import json
import os
import signal
import subprocess
import unittest

from support.environment import TIMEOUT, wait_until
from support.redis_servers import RedisServer
from support.sluice import ServerTest, run_sluice

RULES = """
rules:
  - { id: search, per: api_key, match: { endpoint: /search }, limit: 2/h }
  - { id: api, per: api_key, limit: 1000/h }
"""
HOSTILE = ["<script>alert(1)</script>", "a\"b\\c", "\u2028\u2029", "x" * 64, "line%0Abreak"]


def check(server, key, endpoint="/search", cost=1):
    return server.request(
        "POST", "/api/v1/rate-limit/check",
        json.dumps({"attributes": {"api_key": key, "endpoint": endpoint}, "cost": cost}),
        (("Content-Type", "application/json"),),
    )  # fmt: skip


class InsightTest(ServerTest):
    def get(self, server, path):
        response = server.request("GET", path)
        self.assertEqual(response.status, 200, response.text)
        return response

    def top(self, server, query):
        return self.get(server, f"/admin/v1/top?{query}").json()

    def denials(self, server, query=""):
        lines = self.get(server, f"/admin/v1/denials?follow=0{query}").text.removesuffix("\n").split("\n")
        return [json.loads(line) for line in lines[:-1]]

    def deny(self, server, key, times=1):
        """Returns the last response."""
        for _ in range(2):
            check(server, key)
        for _ in range(times):
            response = check(server, key)
            self.assertEqual(response.status, 429)
        return response


class Top(InsightTest):
    def test_consumers_are_counted_by_rule_and_key(self):
        server = self.serve(rules=RULES)
        self.deny(server, "alice", 5)
        self.deny(server, "bob", 2)
        check(server, "carl", "/other", cost=40)

        def rows(query):
            return [(row["rule"], row["key"], row["count"], row["error"]) for row in self.top(server, query)["rows"]]

        wait_until(lambda: len(rows("by=denied&window=1m")) == 2 and len(rows("by=cost&rule=api")) == 3)
        self.assertEqual(rows("by=denied&window=1m"), [("search", "alice", 5, 0), ("search", "bob", 2, 0)])
        self.assertEqual(rows("by=denied&limit=1"), [("search", "alice", 5, 0)])
        self.assertEqual(rows("by=allowed&rule=search"), [("search", "alice", 2, 0), ("search", "bob", 2, 0)])
        self.assertEqual(rows("by=cost&rule=api&limit=1&window=1h"), [("api", "carl", 40, 0)])
        by_use = self.top(server, "by=utilization")["rows"]
        self.assertEqual({(row["key"], row["utilization"]) for row in by_use[:2]}, {("alice", 1), ("bob", 1)})
        for query in ("by=nothing", "window=5m", "limit=0", "limit=x", "scope=world", "unknown=1", "by=cost&by=cost"):
            self.assertEqual(server.request("GET", f"/admin/v1/top?{query}").status, 400, query)

    def test_the_consumers_of_all_nodes_add_up(self):
        redis = self.enterContext(RedisServer())
        servers = [self.serve(store=redis.url, rules=RULES) for _ in range(2)]
        for server in servers:
            for _ in range(3):
                check(server, "alice")  # Two pass; the limit is that of both.

        def summed():
            top = self.top(servers[0], "by=denied&scope=cluster&window=1m")
            return top["nodes"] == 2 and [(row["key"], row["count"]) for row in top["rows"]] == [("alice", 4)]

        wait_until(summed)
        url = f"http://127.0.0.1:{servers[1].http}"
        self.assertIn("alice", run_sluice("top", "--server", url, "--cluster").stdout)

    def test_the_command_prints_a_table(self):
        server = self.serve(rules=RULES)
        self.deny(server, "alice", 3)
        url = f"http://127.0.0.1:{server.http}"
        wait_until(lambda: "alice" in run_sluice("top", "--server", url).stdout)
        completed = run_sluice("top", "--server", url, "--by", "denied")
        self.assertRegex(completed.stdout, r"denied +error +used +rule +key\n +3 +100 % +search +alice\n")
        self.assertEqual(json.loads(run_sluice("top", "--server", url, "--json").stdout)["rows"][0]["count"], 3)
        self.assertEqual(run_sluice("top", "--server", url, "--by", "x").returncode, 1)


class Denials(InsightTest):
    def test_a_denial_has_all_that_an_operator_needs(self):
        server = self.serve(rules=RULES)
        response = self.deny(server, "alice")
        wait_until(lambda: self.denials(server))
        (denial,) = self.denials(server)
        self.assertEqual((denial["rule"], denial["key"], denial["outcome"]), ("search", "alice", "denied"))
        self.assertEqual(denial["attributes"]["endpoint"], "/search")
        self.assertEqual(denial["numbers"], {"limit": 2, "remaining": 0, "cost": 1})
        self.assertGreater(denial["retry_after_ms"], 0)
        self.assertEqual((denial["protocol"], denial["version"], denial["degraded"]), ("http", "1", False))
        self.assertEqual(denial["id"], response.json()["denialId"])
        self.assertEqual(self.denials(server, "&rule=api"), [])
        self.assertEqual(self.denials(server, "&key=bob"), [])
        self.assertEqual(len(self.denials(server, "&key=alice&rule=search&last=1")), 1)
        self.assertEqual(self.denials(server, f"&after={denial['sequence']}"), [])

    def test_hashed_keys_are_never_shown(self):
        secret = self.folder / "hash_secret"
        secret.write_text("0123456789abcdef", encoding="utf-8")
        server = self.serve("--identity-hash-keys", "true", "--identity-hash-secret-file", secret, rules=RULES)
        self.deny(server, "alice-the-customer")
        wait_until(lambda: self.denials(server))
        text = self.get(server, "/admin/v1/denials?follow=0").text + self.get(server, "/admin/v1/top").text
        self.assertNotIn("alice", text)
        self.assertTrue(self.denials(server)[0]["key"].startswith("hmac:"))

    def test_curl_sees_events_and_lines_as_they_happen(self):
        server = self.serve(rules=RULES)
        for accept, begin in (("text/event-stream", b"data: "), ("application/x-ndjson", b"")):
            with self.subTest(accept), subprocess.Popen(
                ["curl", "-sSN", "-H", f"Accept: {accept}", f"http://127.0.0.1:{server.http}/admin/v1/denials"],
                stdout=subprocess.PIPE,
            ) as curl:
                wait_until(lambda: server.metric("rate_limiter_denial_viewers") == 1)
                self.deny(server, accept)
                for line in curl.stdout:
                    if line.startswith(begin) and b"outcome" in line:
                        break
                self.assertEqual(json.loads(line.removeprefix(begin))["key"], accept)
                curl.terminate()
            wait_until(lambda: server.metric("rate_limiter_denial_viewers") == 0)

    def test_hostile_keys_are_escaped(self):
        server = self.serve(rules=RULES)
        with server.connect(server.http) as stream:
            stream.sendall(b"GET /admin/v1/denials HTTP/1.0\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
            wait_until(lambda: server.metric("rate_limiter_denial_viewers") == 1)
            for key in HOSTILE:
                self.deny(server, key)
            wait_until(lambda: len(self.denials(server)) == len(HOSTILE))
            shown = [denial["attributes"]["api_key"] for denial in self.denials(server)]
            self.assertEqual(sorted(shown), sorted(HOSTILE))
            received = b""
            while received.count(b"event: denial") < len(HOSTILE) or not received.endswith(b"\n\n"):
                received += stream.recv(65536)
        events = [part for part in received.decode().split("\n\n") if "event: denial" in part]
        keys = [json.loads(event.split("data: ", 1)[1])["attributes"]["api_key"] for event in events]
        self.assertEqual(sorted(keys), sorted(HOSTILE))
        wait_until(lambda: len(self.top(server, "by=denied")["rows"]) == len(HOSTILE))

    def test_viewers_are_bounded_and_a_slow_one_delays_nobody(self):
        server = self.serve("--denials-max-viewers", "101", rules=RULES)
        request = b"GET /admin/v1/denials HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"
        viewers = []
        for _ in range(101):
            viewer = self.enterContext(server.connect(server.http))
            viewer.sendall(request)
            viewers.append(viewer)
        wait_until(lambda: server.metric("rate_limiter_denial_viewers") == 101)
        self.assertEqual(server.request("GET", "/admin/v1/denials").status, 503)
        # None of them reads, and each denial is an event for each.
        for i in range(20):
            self.deny(server, f"{'x' * 200}{i}", 5)
        wait_until(lambda: len(self.denials(server)) == 100)
        for viewer in viewers:
            received = b""
            while b'"sequence":100,' not in received:
                part = viewer.recv(65536)
                self.assertTrue(part)
                received += part
            viewer.close()
        wait_until(lambda: server.metric("rate_limiter_denial_viewers") == 0)

    def test_streams_end_when_the_server_drains(self):
        server = self.serve(rules=RULES)
        with server.connect(server.http) as viewer:
            viewer.sendall(b"GET /admin/v1/denials HTTP/1.1\r\nHost: localhost\r\n\r\n")
            wait_until(lambda: server.metric("rate_limiter_denial_viewers") == 1)
            self.assertEqual(server.stop(), 0)
            received = b""
            while part := viewer.recv(65536):
                received += part
        self.assertTrue(received.endswith(b"0\r\n\r\n"), received)

    def test_tail_prints_denials(self):
        server = self.serve(rules=RULES)
        self.deny(server, "alice")
        wait_until(lambda: self.denials(server))
        url = f"http://127.0.0.1:{server.http}"
        completed = run_sluice("tail", "--server", url, "--no-follow")
        self.assertRegex(completed.stdout, r"^\S+Z  denied  search \(.*\)  alice  passes in \d+ ms  .*\n$")

    def test_tail_follows_the_stream_and_connects_again(self):
        server = self.serve(rules=RULES)
        url = f"http://127.0.0.1:{server.http}"
        with subprocess.Popen(
            [os.environ["SLUICE"], "tail", "--server", url, "--json", "--last", "0"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as tail:  # fmt: skip
            wait_until(lambda: server.metric("rate_limiter_denial_viewers") == 1)
            self.deny(server, "bob", 2)
            self.assertEqual([json.loads(tail.stdout.readline())["key"] for _ in range(2)], ["bob", "bob"])
            self.assertEqual(server.stop(), 0)
            # The server is gone: there is nothing to connect to.
            self.assertEqual(tail.stdout.read(), b"")
            self.assertEqual(tail.wait(TIMEOUT), 1)
            self.assertIn(b"can't connect", tail.stderr.read())

    def test_a_viewer_that_connects_again_misses_nothing(self):
        server = self.serve(rules=RULES)
        self.deny(server, "alice", 3)
        wait_until(lambda: len(self.denials(server)) == 3)

        def events(header, newest):
            """Causes the denial with the number `newest`, and returns the numbers of all that a new viewer gets."""
            with server.connect(server.http) as stream:
                request = b"GET /admin/v1/denials HTTP/1.0\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
                stream.sendall(request + header + b"\r\n")
                wait_until(lambda: server.metric("rate_limiter_denial_viewers") == 1)
                check(server, "alice")
                received = b""
                while f"id: {newest}\n".encode() not in received:
                    received += stream.recv(65536)
            wait_until(lambda: server.metric("rate_limiter_denial_viewers") == 0)
            return [int(part.split("\n")[0]) for part in received.decode().split("id: ")[1:]]

        self.assertEqual(events(b"Last-Event-ID: 1\r\n", 4), [2, 3, 4])
        self.assertEqual(events(b"", 5), [5])
        self.assertEqual(events(b"Last-Event-ID: nonsense\r\n", 6), [6])
        # Of a process before this one: everything that this one knows.
        self.assertEqual(events(b"Last-Event-ID: 1000000\r\n", 7), [1, 2, 3, 4, 5, 6, 7])


class DenialIds(InsightTest):
    def secret(self):
        path = self.folder / "secret"
        path.write_text("a secret of the fleet", encoding="utf-8")
        return path

    def test_any_server_with_the_secret_explains_an_id(self):
        one = self.serve("--receipts-secret-file", self.secret(), rules=RULES)
        other = self.serve("--receipts-secret-file", self.secret(), rules=RULES)
        response = self.deny(one, "alice")
        denial_id = response.json()["denialId"]
        self.assertLessEqual(len(denial_id), 64)
        self.assertNotIn("X-RateLimit-Denial-Id", response.headers)
        body = self.get(other, f"/admin/v1/denials/{denial_id}").json()
        self.assertEqual((body["rule"], body["numbers"]), ("search", {"limit": 2, "remaining": 0, "cost": 1}))
        self.assertEqual((body["rules"]["version"], body["rules"]["active"]), ("1", True))
        self.assertGreater(body["passes_at"], body["time"])
        completed = run_sluice("why", "--server", f"http://127.0.0.1:{other.http}", "--", denial_id)
        self.assertRegex(completed.stdout, r"rule +search\n")
        self.assertRegex(completed.stdout, r"numbers +limit 2, remaining 0, cost 1\n")

    def test_other_ids_are_not_found(self):
        server = self.serve("--receipts-secret-file", self.secret(), rules=RULES)
        stranger = self.serve(rules=RULES)
        denial_id = self.deny(stranger, "alice").json()["denialId"]
        response = server.request("GET", f"/admin/v1/denials/{denial_id}")
        self.assertEqual((response.status, response.json()["code"]), (404, "DENIAL_NOT_FOUND"))
        self.assertEqual(server.request("GET", f"/admin/v1/denials/{denial_id[:-1]}").status, 400)
        self.assertEqual(server.request("GET", "/admin/v1/denials/%FF").status, 400)
        self.assertEqual(run_sluice("why", "x", "--server", f"http://127.0.0.1:{server.http}").returncode, 1)

    def test_ids_are_where_the_settings_say(self):
        server = self.serve(
            "--denials-id-in-body", "false", "--denials-id-in-header", "true",
            "--receipts-secret-file", self.secret(), rules=RULES,
        )  # fmt: skip
        response = self.deny(server, "alice")
        self.assertNotIn("denialId", response.json())
        headers = {name.lower(): value for name, value in response.headers.items()}
        self.assertEqual(
            self.get(server, f"/admin/v1/denials/{headers['x-ratelimit-denial-id']}").json()["rule"], "search"
        )


class DecisionLog(InsightTest):
    def read(self, path):
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []

    def test_denials_and_some_allowed_calls_are_logged_with_hashed_keys(self):
        path = self.folder / "decisions.log"
        server = self.serve("--decision-log-file", path, "--decision-log-allowed-every", "1", rules=RULES)
        denial_id = self.deny(server, "alice-the-customer", 3).json()["denialId"]
        wait_until(lambda: len(self.read(path)) == 5)
        lines = self.read(path)
        self.assertEqual(sorted(line["outcome"] for line in lines), ["allowed"] * 2 + ["denied"] * 3)
        denied = [line for line in lines if line["outcome"] == "denied"]
        self.assertIn(denial_id, [line["id"] for line in denied])
        self.assertEqual(denied[0]["numbers"]["limit"], 2)
        self.assertNotIn("alice", path.read_text(encoding="utf-8"))
        self.assertEqual(server.metric("rate_limiter_decision_log_lines_total"), 5)
        self.assertEqual(server.metric("rate_limiter_decision_log_lines_dropped_total"), 0)

    def test_a_file_that_was_moved_is_opened_again(self):
        path = self.folder / "decisions.log"
        server = self.serve("--decision-log-file", path, rules=RULES)
        self.deny(server, "alice")
        wait_until(lambda: len(self.read(path)) == 1)
        path.rename(self.folder / "decisions.log.1")
        self.deny(server, "bob")
        wait_until(lambda: len(self.read(path)) == 1)
        server.process.send_signal(signal.SIGHUP)
        self.deny(server, "carl")
        wait_until(lambda: len(self.read(path)) == 2)
        self.assertEqual(len(self.read(self.folder / "decisions.log.1")), 1)

    def test_a_file_that_cannot_be_opened_is_an_error(self):
        completed = run_sluice("serve", "--http", "127.0.0.1:0", "--decision-log-file", self.folder / "no" / "file")
        self.assertNotEqual(completed.returncode, 0)
        self.assertIn("decision_log.file", completed.stderr)


class Series(InsightTest):
    def test_rates_are_kept_by_the_second(self):
        server = self.serve(rules=RULES)

        def counted():
            check(server, "alice")
            series = self.get(server, "/admin/v1/series?step=1").json()["series"]
            return len(series) == 1 and sum(series[0]["checks"]) > 1 and sum(series[0]["denials"]) > 0

        wait_until(counted)
        all_steps = self.get(server, "/admin/v1/series").json()["series"]
        self.assertEqual([one["step_seconds"] for one in all_steps], [1, 5, 30])
        seconds = all_steps[0]
        for name in ("checks", "denials", "degraded", "p50_seconds", "p99_seconds", "lease_hit_ratio"):
            self.assertEqual(len(seconds[name]), len(seconds["checks"]))
        self.assertEqual(len(self.get(server, "/admin/v1/series?step=1&last=1").json()["series"][0]["checks"]), 1)
        for query in ("step=2", "last=0", "scope=world", "scope=cluster&step=1", "node=a&step=1", "unknown=1"):
            self.assertEqual(server.request("GET", f"/admin/v1/series?{query}").status, 400, query)

    def test_series_of_all_nodes_add_up_and_each_can_be_read(self):
        redis = self.enterContext(RedisServer())
        servers = [self.serve(store=redis.url, rules=RULES) for _ in range(2)]

        def counted(query):
            """The calls of the last ten minutes."""
            answer = self.get(servers[0], f"/admin/v1/series?step=5&{query}").json()
            (series,) = answer["series"]
            self.assertEqual(series["step_seconds"], 5)
            return answer["nodes"], round(5 * sum(rate or 0 for rate in series["checks"]))

        wait_until(lambda: counted("scope=cluster")[0] == 2)
        for calls, server in zip((3, 4), servers):
            for _ in range(calls):
                check(server, "alice")
        wait_until(lambda: counted("scope=cluster") == (2, 7), lambda: counted("scope=cluster"))
        nodes = self.get(servers[0], "/admin/v1/nodes").json()["nodes"]
        by_node = {node["address"]: counted(f"node={node['id']}") for node in nodes}
        self.assertEqual(by_node, {f"127.0.0.1:{server.http}": (1, calls) for calls, server in zip((3, 4), servers)})
        self.assertEqual(servers[0].request("GET", "/admin/v1/series?node=none").status, 404)
        # A node that is gone counts for the time in which it ran.
        self.assertEqual(servers[1].stop(), 0)
        self.assertEqual(counted("scope=cluster"), (2, 7))


if __name__ == "__main__":
    unittest.main()
