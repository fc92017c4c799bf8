"""Live entries of the binary named by SLUICE: on every protocol, through the API, RESP and the commands."""

import concurrent.futures
import json
import os
import threading
import unittest
import urllib.parse
from pathlib import Path

from support import resp
from support.control import ControlTest
from support.environment import TIMEOUT, wait_until
from support.http2 import DATA, Http2Client, grpc_call
from support.redis_servers import RedisServer, Sentinel
from support.sluice import run_sluice

TOKEN = "an-admin-token-of-this-test"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
JSON = {"Content-Type": "application/json"}
RULES = """
rules:
  - { id: calls, per: api_key, algorithm: fixed_window, limit: 5, window: 1d }
  - { id: two, match: { endpoint: /two }, per: api_key, algorithm: fixed_window, limits: { a: 3/d, b: 4/d } }
"""
EDGE = """
domain: edge
descriptors:
  - key: tenant
    rate_limit: { unit: day, requests_per_unit: 5 }
"""
HOSTILE = [
    "<script>alert('x')</script>",
    '"><img src=x onerror=alert(1)>',
    "a*b?c\\d",
    "../../etc/passwd",
    "ключ-😀",
    "k" * 256,
    "' OR 1=1 --",
]


def protobuf(field, payload):
    """A length-delimited field."""
    data = payload if isinstance(payload, bytes) else payload.encode()
    return bytes([field << 3 | 2, len(data)]) + data


class EntriesTest(ControlTest):
    def start(self, *flags, rules=RULES, **options):
        return self.serve("--state-dir", self.folder / "state", *flags, rules=rules, **options)

    def entry(self, server, entry_id, query="", method="PUT", headers=(), **members):
        body = json.dumps(members) if method == "PUT" else None
        path = f"/admin/v1/entries/{urllib.parse.quote(entry_id, safe='')}{query}"
        return server.request(method, path, body, (JSON if body else {}) | dict(headers))

    def put(self, server, entry_id, effect, match, **members):
        response = self.entry(server, entry_id, match=match, effect=effect, **members)
        self.assertEqual(response.status, 200, response.text)
        return response.json()

    def batch(self, server, body, query="", headers=()):
        return server.request("POST", f"/admin/v1/entries:batch{query}", json.dumps(body), JSON | dict(headers))

    def list(self, server, query="", headers=()):
        response = server.request("GET", f"/admin/v1/entries{query}", headers=headers)
        self.assertEqual(response.status, 200, response.text)
        return response.json()

    def check(self, server, key, **attributes):
        query = urllib.parse.urlencode({"api_key": key} | attributes)
        return server.request("GET", f"/api/v1/rate-limit/check?{query}")

    def admitted(self, server, key, **attributes):
        count = 0
        while count < 30 and self.check(server, key, **attributes).status == 200:
            count += 1
        return count

    def ask_envoy(self, server, key, value):
        """The code of a RateLimitResponse: 1 OK, 2 OVER_LIMIT."""
        descriptor = protobuf(1, protobuf(1, key) + protobuf(2, value))
        with server.connect(server.grpc) as connection:
            client = Http2Client(connection)
            path = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
            client.send(grpc_call(1, path, protobuf(1, "edge") + protobuf(2, descriptor)))
            answer = client.read_until(DATA)[3]
        self.assertEqual(answer[5], 0x08)
        return answer[6]


class Effects(EntriesTest):
    def test_a_block_counts_on_every_protocol(self):
        config = self.folder / "envoy"
        config.mkdir()
        (config / "edge.yaml").write_text(EDGE, encoding="utf-8")
        server = self.start("--envoy-config", config)
        for name in ("api_key", "key", "tenant"):
            self.put(server, f"b-{name}", "block", {name: "bad"}, expires_in="1h", reason="<b>test</b>")
        answer = self.check(server, "bad")
        self.assertEqual((answer.status, answer.json()["code"], answer.json()["limits"]), (403, "BLOCKED", []))
        wait = int(answer.headers["Retry-After"])
        self.assertTrue(3000 < wait <= 3600, wait)
        self.assertNotIn("test", answer.text)
        self.assertEqual(self.check(server, "good").status, 200)
        batch = {"checks": [{"attributes": {"api_key": "bad"}}, {"attributes": {"api_key": "good"}}]}
        results = server.request("POST", "/api/v1/rate-limit/check", json.dumps(batch), JSON).json()["results"]
        self.assertEqual([one["allowed"] for one in results], [False, True])
        limit = {"key": "bad", "limit": {"algorithm": "token_bucket", "capacity": 5, "refill_rate": 1}}
        answer = server.request("POST", "/api/v1/rate-limit/check", json.dumps(limit), JSON)
        self.assertEqual(answer.json()["code"], "BLOCKED", answer.text)
        descriptors = {"descriptors": [{"key": "good", "limit": 5}, {"key": "bad", "limit": 5}]}
        answer = server.request("POST", "/api/v1/rate-limit/check", json.dumps(descriptors), JSON)
        self.assertEqual((answer.status, answer.json()["code"]), (403, "BLOCKED"), answer.text)
        forwarded = {"X-Api-Key": "bad", "X-Forwarded-Method": "GET", "X-Forwarded-Uri": "/"}
        answer = server.request("GET", "/v1/auth", headers=forwarded)
        self.assertEqual((answer.status, answer.json()["error"]["code"]), (403, "BLOCKED"), answer.text)
        self.assertTrue(3000 < int(answer.headers["Retry-After"]) <= 3600)
        self.assertEqual(resp.call(server.resp, "SLUICE.CHECK", "api_key", "bad", timeout=TIMEOUT)[0], "0")
        throttled = resp.call(server.resp, "CL.THROTTLE", "bad", "5", "10", "60", timeout=TIMEOUT)
        self.assertEqual(throttled[0], "1")
        self.assertTrue(3000 < int(throttled[3]) <= 3600, throttled)
        self.assertEqual(resp.call(server.resp, "CL.THROTTLE", "good", "5", "10", "60", timeout=TIMEOUT)[0], "0")
        self.assertEqual((self.ask_envoy(server, "tenant", "bad"), self.ask_envoy(server, "tenant", "good")), (2, 1))
        self.assertGreaterEqual(server.metric("rate_limiter_entry_hits_total", effect="block"), 8)
        self.assertEqual(server.metric("rate_limiter_entries", kind="exact"), 3)

    def test_numbers_change_and_keys_keep_what_they_have_left(self):
        server = self.start()
        self.assertEqual(self.admitted(server, "k"), 5)
        self.put(server, "m", {"multiply": 2}, {"api_key": "k"})
        self.assertEqual(self.admitted(server, "k"), 5)
        self.put(server, "m", "unlimited", {"api_key": "k"})
        self.assertEqual(self.admitted(server, "k"), 30)
        self.put(server, "m", "allow", {"api_key": "k"})
        self.assertEqual(self.check(server, "k").json()["limits"], [])
        self.assertEqual(self.entry(server, "m", method="DELETE").status, 200)
        self.assertEqual(self.check(server, "k").status, 429)
        self.put(server, "l", {"limit": "2 per day"}, {"api_key": "other"}, rule="calls")
        self.assertEqual(self.admitted(server, "other"), 2)

    def test_a_block_with_status_429_says_so(self):
        server = self.start()
        self.put(server, "b", "block", {"ip": "10.0.0.0/8"}, status=429, expires_at=None)
        answer = self.check(server, "k", ip="10.1.2.3")
        self.assertEqual((answer.status, answer.json()["code"]), (429, "TEMPORARILY_BLOCKED"))
        self.assertIsNone(answer.headers["Retry-After"])
        self.assertEqual(answer.json()["retryAfterMs"], -1)
        self.assertEqual(self.check(server, "k", ip="11.1.2.3").status, 200)

    def test_an_entry_ends_by_itself(self):
        server = self.start()
        self.put(server, "b", "block", {"api_key": "k"}, expires_in="1s")
        wait_until(lambda: self.check(server, "k").status == 200)
        self.assertEqual(self.entry(server, "b", method="GET").status, 404)
        self.assertEqual(self.list(server)["entries"], [])


class Interface(EntriesTest):
    def test_hostile_keys_survive_the_round_trip(self):
        server = self.start()
        for i, key in enumerate(HOSTILE):
            created = self.put(server, f"e{i}", "block", {"api_key": {"equals": key}}, reason=key[:64])
            self.assertEqual(created["created"], 1)
            shown = self.entry(server, f"e{i}", method="GET").json()
            found = shown["match"]["api_key"]
            self.assertEqual(found if isinstance(found, str) else found["equals"], key)
            self.assertEqual(self.check(server, key).status, 403, key)
            page = self.list(server, "?match=" + urllib.parse.quote(f"api_key={key}"))
            self.assertEqual([one["id"] for one in page["entries"]], [f"e{i}"])
        self.assertEqual(self.check(server, "a-b-c").status, 200)
        exported = self.list(server)
        self.assertEqual(self.batch(server, {"entries": exported["entries"]}).json()["replaced"], len(HOSTILE))

    def test_errors_name_the_field(self):
        server = self.start()
        match = {"api_key": "k"}
        for members, code, field in (
            ({"effect": "block"}, "MISSING_FIELD", "match"),
            ({"match": match}, "MISSING_FIELD", "effect"),
            ({"match": match, "effect": "blok"}, "INVALID_FIELD", "effect"),
            ({"match": match, "effect": "block", "expire": 1}, "UNKNOWN_FIELD", "expire"),
            ({"match": {"api_key": "a*"}, "effect": "block"}, "INVALID_FIELD", "match.api_key"),
            ({"match": {"ip": "10.0.0.1/8"}, "effect": "block"}, "INVALID_FIELD", "match.ip"),
            ({"match": match, "effect": {"limit": 5}, "rule": "nope"}, "INVALID_FIELD", "rule"),
            ({"match": match, "effect": {"limit": 5}, "rule": "two"}, "MISSING_FIELD", "limit_name"),
        ):
            answer = self.entry(server, "e", **members)
            self.assertEqual((answer.status, answer.json()["code"], answer.json()["field"]), (400, code, field))
        self.assert_problem(self.entry(server, "nope", method="GET"), 404, "ENTRY_NOT_FOUND")
        self.assert_problem(self.entry(server, "nope", method="DELETE"), 404, "ENTRY_NOT_FOUND")
        self.assert_problem(self.entry(server, "a/b", match=match, effect="block"), 400, "INVALID_PARAMETER")
        self.assert_problem(server.request("GET", "/admin/v1/entries?limit=0"), 400, "INVALID_PARAMETER")
        self.assert_problem(server.request("PUT", "/admin/v1/entries/e", "{", JSON), 400, "INVALID_BODY")

    def test_a_batch_is_all_or_nothing(self):
        server = self.start()
        good = {"id": "a", "match": {"api_key": "k"}, "effect": "block"}
        answer = self.batch(server, {"entries": [good, good | {"id": "b", "effect": "x"}]})
        self.assertEqual((answer.status, answer.json()["field"]), (400, "entries[1].effect"))
        answer = self.batch(server, {"entries": [good]}, "?dry_run=1").json()
        self.assertEqual((answer["dry_run"], answer["created"]), (True, 1))
        self.assertEqual(self.list(server)["entries"], [])
        globs = [good | {"id": f"g{i}", "match": {"api_key": {"glob": f"k{i}*"}}} for i in range(257)]
        self.assert_problem(self.batch(server, {"entries": globs}), 409, "TOO_MANY_ENTRIES")
        many = [good | {"id": f"e{i:05}", "match": {"api_key": f"k{i}"}} for i in range(10000)]
        self.assertEqual(self.batch(server, {"entries": many}).json()["created"], 10000)
        seen, cursor = [], ""
        while True:
            page = self.list(server, f"?limit=1000{cursor}")
            seen += [one["id"] for one in page["entries"]]
            if page["cursor"] is None:
                break
            cursor = f"&cursor={page['cursor']}"
        self.assertEqual(seen, [one["id"] for one in many])
        self.assertEqual(self.check(server, "k7").status, 403)
        answer = self.batch(server, {"remove": [one["id"] for one in many]}).json()
        self.assertEqual(answer["removed"], 10000)
        self.assertEqual(self.check(server, "k7").status, 200)

    def test_every_change_is_in_the_audit_log_without_keys(self):
        server = self.start()
        self.put(server, "e", "block", {"api_key": "a-secret-key"}, reason="ticket 1")
        self.entry(server, "e", method="DELETE")
        records = self.audit(server)
        self.assertEqual([one["action"] for one in records[:2]], ["entry.delete", "entry.put"])
        self.assertEqual(records[1]["message"], "ticket 1")
        self.assertNotIn("a-secret-key", json.dumps(records))

    def test_commands_of_the_redis_protocol_need_a_token(self):
        token_file = self.folder / "token"
        token_file.write_text(TOKEN, encoding="utf-8")
        server = self.start("--admin-token-file", token_file)
        with resp.connect(server.resp, TIMEOUT) as connection, connection.makefile("rb") as stream:

            def call(*words):
                connection.sendall(resp.encode(*words))
                return resp.read_reply(stream)

            self.assertIn("-NOAUTH", str(call("SLUICE.ENTRY", "BLOCK", "api_key", "k")))
            self.assertEqual(call("AUTH", TOKEN), "OK")
            entry_id = call("SLUICE.ENTRY", "BLOCK", "api_key", "k", "EX", "60", "STATUS", "429", "REASON", "x y")
            self.assertEqual(self.check(server, "k").status, 429)
            shown = self.entry(server, entry_id, method="GET", headers=BEARER).json()
            self.assertEqual((shown["status"], shown["reason"]), (429, "x y"))
            self.assertEqual(call("SLUICE.ENTRY", "UNBLOCK", "api_key", "k"), "1")
            self.assertEqual(call("SLUICE.ENTRY", "UNBLOCK", "api_key", "k"), "0")
            self.assertEqual(self.check(server, "k").status, 200)
            self.assertIn("ERR", str(call("SLUICE.ENTRY", "BLOCK", "api_key")))
            self.assertIn("ERR", str(call("SLUICE.ENTRY", "EXPLODE", "api_key", "k")))


class Commands(EntriesTest):
    def run_command(self, server, *arguments, **options):
        environment = {name: value for name, value in os.environ.items() if name != "SLUICE_ADMIN_TOKEN"}
        return run_sluice(*arguments, "--server", f"http://127.0.0.1:{server.http}", env=environment, **options)

    def assert_exit(self, completed, code):
        self.assertEqual(completed.returncode, code, completed.stdout + completed.stderr)

    def test_block_unblock_and_entries(self):
        server = self.start()
        self.assert_exit(self.run_command(server, "block", "api_key=k*", "--for", "2h", "--reason", "x"), 0)
        self.assertEqual((self.check(server, "k*").status, self.check(server, "kk").status), (403, 200))
        listed = self.run_command(server, "entries", "list")
        self.assertRegex(listed.stdout, r"block-[0-9a-f]{16} +block +api_key=equals:k\*")
        self.put(server, "other", "block", {"api_key": {"equals": "k*"}})
        unblocked = self.run_command(server, "unblock", "api_key=k*")
        self.assert_exit(unblocked, 0)
        self.assertIn("still blocked by other", unblocked.stderr)
        self.assert_exit(self.run_command(server, "entries", "delete", "other"), 0)
        self.assertEqual(self.check(server, "k*").status, 200)
        self.assert_exit(self.run_command(server, "unblock", "api_key=k*"), 2)
        self.assert_exit(self.run_command(server, "entries", "get", "nope"), 2)

    def test_put_list_and_import(self):
        server = self.start()
        text = json.dumps({"match": {"api_key": "k"}, "effect": {"multiply": 2}, "expires_at": None})
        self.assert_exit(self.run_command(server, "entries", "put", "twice", text, "--wait", "20s"), 0)
        self.assertEqual(self.admitted(server, "k"), 10)
        self.assert_exit(self.run_command(server, "entries", "put", "bad", "{}"), 1)
        exported = self.run_command(server, "entries", "list", "--json").stdout
        self.assertEqual(json.loads(exported)["entries"][0]["expires_at"], None)
        file = self.folder / "entries.json"
        file.write_text(exported, encoding="utf-8")
        dry = self.run_command(server, "entries", "import", file, "--dry-run")
        self.assert_exit(dry, 0)
        self.assertIn("1 replaced", dry.stdout)
        self.assert_exit(self.run_command(server, "entries", "import", file), 0)
        rules = self.folder / "rules.yaml"
        rules.write_text(RULES, encoding="utf-8")
        explained = run_sluice("explain", "--rules", rules, "--attr", "api_key=k", "--entries", file)
        self.assertRegex(explained.stdout, r"(?m)^ +entry +twice: 10 ")
        trace = self.folder / "calls.csv"
        trace.write_text("time,api_key\n" + "".join(f"{i},k\n" for i in range(12)), encoding="utf-8")
        simulated = run_sluice("simulate", "--rules", rules, "--traffic", trace, "--entries", file, "--json")
        self.assertEqual(json.loads(simulated.stdout)["rules"]["denied"], 2, simulated.stdout)


class Fleet(EntriesTest):
    def test_entries_reach_all_nodes_and_survive_a_restart(self):
        with RedisServer() as redis:
            nodes = [
                self.serve("--state-dir", self.folder / str(i), rules=RULES, store=redis.url) for i in range(2)
            ]
            answer = self.entry(nodes[0], "b", "?wait=20s", match={"api_key": "k"}, effect="block")
            self.assertEqual((answer.status, answer.json()["applied"], answer.json()["of"]), (200, 2, 2), answer.text)
            self.assertEqual([self.check(node, "k").status for node in nodes], [403, 403])
            for node in nodes:
                node.kill()
            again = self.serve("--state-dir", self.folder / "0", rules=RULES, store=redis.url)
            wait_until(lambda: self.check(again, "k").status == 403)

    def test_what_was_replicated_survives_a_failover_and_the_death_of_all_servers(self):
        """Entries are changed under load, while the primary is killed, and all servers are killed right after."""
        with Sentinel() as sentinel:
            nodes = [
                self.serve("--state-dir", self.folder / str(i), rules=RULES, store=sentinel.url, store_deadline="1s")
                for i in range(3)
            ]
            stop = threading.Event()
            with concurrent.futures.ThreadPoolExecutor() as pool:
                load = [pool.submit(self.keep_checking, node, stop) for node in nodes]
                try:
                    promised = self.change_during_failover(nodes, sentinel)
                finally:
                    stop.set()
                self.assertTrue(all(one.result(TIMEOUT) > 0 for one in load))
            for node in nodes:
                node.kill()
            # Without a copy: what they know is in Redis.
            again = [
                self.serve("--state-dir", self.folder / f"new{i}", rules=RULES, store=sentinel.url) for i in range(3)
            ]
            for node in again:
                wait_until(lambda node=node: self.list(node)["entries"])
                found = {entry["id"]: entry["reason"] for entry in self.list(node, "?limit=1000")["entries"]}
                for entry_id, (last, attempted) in promised.items():
                    # What was promised, or what came later and may or may not have happened.
                    self.assertIn(found.get(entry_id), attempted[last:], (entry_id, attempted))

    def keep_checking(self, node, stop):
        """Returns how many calls were answered."""
        count = 0
        with node.connect(node.http) as connection, connection.makefile("rb") as stream:
            while not stop.is_set():
                connection.sendall(b"GET /api/v1/rate-limit/check?api_key=load HTTP/1.1\r\nHost: localhost\r\n\r\n")
                length = 0
                while (line := stream.readline()) != b"\r\n":
                    if line.lower().startswith(b"content-length:"):
                        length = int(line.split(b":")[1])
                stream.read(length)
                count += 1
        return count

    def change_during_failover(self, nodes, sentinel):
        """Returns for each entry the reasons that were tried, None for its removal, and which was replicated last."""
        promised, number = {}, 0

        def change(node):
            """Returns whether a replica has it."""
            nonlocal number
            number += 1
            entry_id = f"e{number % 7}"
            _, attempted = promised.setdefault(entry_id, (0, [None]))
            reason = None if number % 5 == 0 and attempted[-1] is not None else f"reason {number}"
            attempted.append(reason)
            if reason is None:
                answer = self.entry(node, entry_id, method="DELETE")
            else:
                answer = self.entry(node, entry_id, match={"api_key": entry_id}, effect="block", reason=reason)
            self.assertIn(answer.status, (200, 404, 503), answer.text)
            if answer.status == 200 and answer.json()["replicated"]:
                promised[entry_id] = (len(attempted) - 1, attempted)
            return answer.status == 200 and answer.json()["replicated"] is True

        wait_until(lambda: change(nodes[0]), "a replica has a change")
        for i in range(30):
            change(nodes[i % 3])
        sentinel.primary.kill()
        for i in range(5):
            change(nodes[i % 3])
        wait_until(sentinel.accepts_writes, "the replica is the primary")
        # Nobody has a replica now; what they still write is not promised.
        wait_until(lambda: self.entry(nodes[0], "after", match={"api_key": "after"}, effect="block").status == 200)
        self.assertTrue(all(last > 0 for last, _ in promised.values()), promised)
        return promised

    def test_hashed_keys_never_reach_redis(self):
        secret = self.folder / "secret"
        secret.write_text("0123456789abcdef", encoding="utf-8")
        key, other = "sk-plain-key-of-a-customer", "sk-plain-key-of-another"
        with RedisServer() as redis:
            flags = ("--identity-hash-keys", "true", "--identity-hash-secret-file", secret)
            nodes = [
                self.serve("--state-dir", self.folder / str(i), *flags, rules=RULES, store=redis.url) for i in range(2)
            ]
            self.put(nodes[0], "by-key", "block", {"api_key": key}, reason="test")
            self.put(nodes[0], "throttled", "block", {"key": key})
            for node in nodes:
                wait_until(lambda node=node: self.check(node, key).status == 403)
                self.assertEqual(resp.call(node.resp, "SLUICE.CHECK", "api_key", key, timeout=TIMEOUT)[0], "0")
                forwarded = {"X-Api-Key": key, "X-Forwarded-Method": "GET", "X-Forwarded-Uri": "/"}
                self.assertEqual(node.request("GET", "/v1/auth", headers=forwarded).status, 403)
            self.assertEqual(self.check(nodes[1], other).status, 200)
            self.assertEqual(self.admitted(nodes[0], other), 4)
            # By the command, which knows the key, and its list.
            url = f"http://127.0.0.1:{nodes[0].http}"
            self.assertEqual(run_sluice("block", f"api_key={other}", "--server", url).returncode, 0)
            self.assertEqual(self.check(nodes[0], other).status, 403)
            self.assertEqual(run_sluice("unblock", f"api_key={other}", "--server", url).returncode, 0)
            grant = {"attributes": {"api_key": other}, "amount": 3}
            self.assertEqual(nodes[0].request("POST", "/admin/v1/grants", grant).status, 200)
            lookup = nodes[0].request("POST", "/admin/v1/keys:lookup", {"attributes": {"api_key": other}})
            self.assertEqual(lookup.status, 200, lookup.text)
            # The consumers of all nodes are in Redis for the others to read.
            top = wait_until(lambda: nodes[1].request("GET", "/admin/v1/top?scope=cluster&by=allowed").json()["rows"])
            self.assertIn("hmac:", json.dumps(top))
            redis.send("CONFIG", "SET", "rdbcompression", "no")
            self.assertEqual(redis.send("SAVE"), "OK")
            everything = (Path(redis.folder.name) / "dump.rdb").read_bytes()
            self.assertIn(b"hmac:", everything)
            self.assertIn(b"by-key", everything)
            shown = [self.list(nodes[0]), self.audit(nodes[0]), lookup.json()]
            shown.append(nodes[0].request("GET", "/admin/v1/denials?follow=0").text)
            for plain in (key, other):
                self.assertNotIn(plain.encode(), everything)
                self.assertNotIn(plain, json.dumps(shown))
                self.assertNotIn(plain, "".join(nodes[0].log + nodes[1].log))

    def test_a_single_server_keeps_entries_in_its_state_directory(self):
        server = self.start()
        self.put(server, "b", "block", {"api_key": "k"})
        server.kill()
        again = self.start()
        self.assertEqual(self.check(again, "k").status, 403)


if __name__ == "__main__":
    unittest.main(verbosity=2)
