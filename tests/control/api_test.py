"""The rule service through HTTP, with versions in a state directory and in Redis."""

import concurrent.futures
import json
import signal
import threading
import unittest

from support.control import YAML, ControlTest, rules
from support.environment import scaled, wait_until
from support.redis_servers import RedisServer

TOKEN = "a-token-of-enough-length"


class Disk(ControlTest):
    """The same for both stores; `Redis` below."""

    def start(self, *flags, **options):
        return self.serve_store(*flags, **options)

    def test_the_rule_file_fills_an_empty_store_once(self):
        server = self.start(rules=rules(3))
        self.assertEqual(self.get(server).text, rules(3))
        self.assertEqual([version["source"] for version in self.versions(server)], ["seed"])
        self.assertEqual(self.limit_of(server), "3")

    def test_a_server_without_rules_is_not_ready_but_can_be_given_some(self):
        server = self.start()
        self.assertEqual(server.request("GET", "/readyz").status, 503)
        self.assert_problem(self.get(server), 404, "NO_RULES")
        self.assertEqual(server.check("someone").status, 200)
        self.assertEqual(self.commit(server, rules(3), tag="")["version"], "1.1")
        self.assertEqual(server.request("GET", "/readyz").status, 200)
        verbose = server.request("GET", "/readyz?verbose").text
        self.assertIn("[+] rules_source ok", verbose)
        self.assertIn("version 1.1", verbose)

    def test_a_change_is_active_once_its_wait_is_over(self):
        server = self.start(rules=rules(3))
        answer = self.commit(server, rules(5))
        self.assertEqual((answer["version"], answer["applied"], answer["of"]), ("1.2", 1, 1))
        self.assertEqual(self.limit_of(server), "5")

    def test_keys_keep_what_they_have_left(self):
        server = self.start(rules=rules(10))
        for _ in range(4):
            server.check("alice")
        self.commit(server, rules(12))
        self.assertEqual(server.check("alice").headers["X-RateLimit-Remaining"], "7")
        response = server.request("POST", "/admin/v1/rules/versions/1.1/restore?wait=20s")
        self.assertEqual(response.status, 200, response.text)
        self.assertEqual(server.check("alice").headers["X-RateLimit-Remaining"], "4")

    def test_of_two_editors_the_second_is_told_what_the_first_changed(self):
        server = self.start(rules=rules(3))
        tag = self.etag(server)
        self.assertEqual(self.put(server, rules(5), tag=tag).status, 200)
        late = self.put(server, rules(9), tag=tag)
        self.assert_problem(late, 412, "PRECONDITION_FAILED")
        self.assertEqual(late.headers["ETag"], self.etag(server))
        self.assertEqual(late.json()["current"], self.etag(server))
        rows = late.json()["difference"]["rows"]
        self.assertEqual([(row["rule"], row["effect"]) for row in rows], [("api", "loosens")])
        self.assert_problem(self.put(server, rules(9), tag=""), 428, "PRECONDITION_REQUIRED")

    def test_one_of_many_editors_at_once_wins_each_version(self):
        server = self.start(rules=rules(3))

        def edit(number):
            while True:
                response = self.put(server, rules(10 + number))
                if response.status == 200:
                    return response.json()["version"]
                self.assertIn(response.json()["code"], ("PRECONDITION_FAILED", "BUSY"))

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            versions = list(pool.map(edit, range(scaled(12))))
        self.assertEqual(len(set(versions)), len(versions))
        numbers = [int(version["version"].split(".")[1]) for version in self.versions(server)]
        self.assertEqual(numbers, sorted(numbers, reverse=True))
        self.assert_chain(server)

    def test_a_repeated_request_gets_the_first_result(self):
        server = self.start(rules=rules(3))
        tag, key = self.etag(server), {"Idempotency-Key": "deploy-17"}
        first = self.put(server, rules(5), tag=tag, headers=key)
        again = self.put(server, rules(5), tag=tag, headers=key)
        self.assertEqual((first.status, again.status), (200, 200), again.text)
        self.assertEqual((first.json()["version"], again.json()["outcome"]), (again.json()["version"], "repeated"))
        self.assert_problem(self.put(server, rules(6), tag=tag, headers=key), 409, "IDEMPOTENCY_CONFLICT")
        self.assertEqual(len(self.versions(server)), 2)

    def test_a_document_with_errors_changes_nothing(self):
        server = self.start(rules=rules(3))
        for query in ("", "?dry_run=1"):
            response = self.put(server, "rules:\n  - { id: api, limitt: 3 }\n", query)
            self.assert_problem(response, 422, "RULES_INVALID")
            errors = response.json()["errors"]
            self.assertEqual({error["line"] for error in errors}, {2})
            self.assertIn("limitt", str(errors))
        self.assertEqual(len(self.versions(server)), 1)
        self.assertEqual(self.limit_of(server), "3")

    def test_a_document_that_rejects_every_call_must_say_so(self):
        server = self.start(rules=rules(3))
        document = "deny: [0.0.0.0/0, '::/0']\nrules: []\n"
        response = self.put(server, document)
        self.assert_problem(response, 409, "REJECTS_ALL")
        self.assertEqual(self.limit_of(server), "3")
        self.assertEqual(self.put(server, document, "?reject_all=1&wait=20s").status, 200)
        self.assertEqual(server.check("someone").status, 403)

    def test_one_rule_and_one_tier_are_changed_in_place(self):
        document = "tiers:\n  free: { limit: 5 }  # the small one\n" + rules(3, more="  # the end\n")
        server = self.start(rules=document)
        tag = {"If-Match": self.etag(server)}
        response = server.request("PUT", "/admin/v1/tiers/pro?wait=20s", {"limit": 500},
                                  tag | {"Content-Type": "application/json"})  # fmt: skip
        self.assertEqual(response.status, 200, response.text)
        text = self.get(server).text
        self.assertIn("# the small one", text)
        self.assertIn("500", text)
        response = server.request("PUT", "/admin/v1/rules/api?wait=20s", "{ algorithm: fixed_window, limit: 7, window: 1d }",
                                  YAML | {"If-Match": self.etag(server)})  # fmt: skip
        self.assertEqual(response.status, 200, response.text)
        self.assertEqual(self.limit_of(server), "7")
        for name in ("pro", "pro"):
            response = server.request("DELETE", f"/admin/v1/tiers/{name}", headers={"If-Match": self.etag(server)})
        self.assert_problem(response, 404, "RULE_NOT_FOUND")

    def test_a_document_of_json_is_stored_as_yaml(self):
        server = self.start()
        document = {"rules": [{"id": "api", "algorithm": "fixed_window", "limit": 4, "window": "1d"}]}
        response = self.put(server, json.dumps(document), "?wait=20s", tag="", headers={"Content-Type": "application/json"})
        self.assertEqual(response.status, 200, response.text)
        self.assertFalse(self.get(server).text.startswith("{"))
        self.assertEqual(json.loads(self.get(server, {"Accept": "application/json"}).text), document)

    def test_a_restore_makes_a_new_version_and_needs_no_tag(self):
        server = self.start(rules=rules(3))
        self.commit(server, rules(5))
        response = server.request("POST", "/admin/v1/rules/versions/1.1/restore?wait=20s&message=back")
        self.assertEqual(response.status, 200, response.text)
        newest = self.versions(server)[0]
        self.assertEqual((newest["version"], newest["source"], newest["restores"]), ("1.3", "restored", "1.1"))
        self.assertEqual(newest["message"], "back")
        self.assertEqual(self.limit_of(server), "3")
        difference = server.request("GET", "/admin/v1/rules/versions/1.2...1.3").json()
        self.assertEqual([row["effect"] for row in difference["rows"]], ["tightens"])
        self.assert_problem(server.request("POST", "/admin/v1/rules/versions/77/restore"), 404, "VERSION_NOT_FOUND")

    def test_calls_go_on_while_versions_are_restored(self):
        server = self.start(rules=rules(1000000))
        self.commit(server, rules(2000000))
        stop, statuses = threading.Event(), set()

        def call():
            while not stop.is_set():
                response = server.check("someone")
                statuses.add((response.status, response.headers["X-RateLimit-Limit"]))

        threads = [threading.Thread(target=call) for _ in range(2)]
        for thread in threads:
            thread.start()
        for turn in range(scaled(20)):
            response = server.request("POST", f"/admin/v1/rules/versions/1.{1 + turn % 2}/restore?wait=20s")
            self.assertEqual(response.status, 200, response.text)
        stop.set()
        for thread in threads:
            thread.join()
        self.assertEqual(statuses, {(200, "1000000"), (200, "2000000")})

    def test_the_old_routes_reload_and_roll_back(self):
        server = self.start(rules=rules(3))
        self.commit(server, rules(5))
        active = server.request("GET", "/admin/rules").json()["active"]
        self.assertEqual(active["file"], "version 1.2")
        self.assertEqual(server.request("POST", "/admin/rules/reload").json()["outcome"], "unchanged")
        response = server.request("POST", f"/admin/rules/rollback?version={active['version'] - 1}")
        self.assertEqual(response.status, 200, response.text)
        self.assertEqual(self.versions(server)[0]["restores"], "1.1")
        self.assertEqual(self.limit_of(server), "3")
        self.assertEqual(server.request("POST", "/admin/rules/rollback?version=99").status, 404)

    def test_every_change_is_in_the_audit_log(self):
        server = self.start("--admin-token", TOKEN, rules=rules(3))
        self.admin = {"Authorization": f"Bearer {TOKEN}"}
        server.request("PUT", "/admin/enforcement", {"enforcement": "shadow"}, self.admin)
        server.request("PUT", "/admin/log-level", {"level": "debug"}, self.admin)
        server.request("DELETE", "/api/v1/rate-limit/reset?key=alice", headers=self.admin)
        server.request("POST", "/admin/grant", {"key": "alice", "amount": 2}, self.admin)
        server.request("POST", "/admin/rules/reload", headers=self.admin)
        server.process.send_signal(signal.SIGHUP)
        expected = {"enforcement.set", "log_level.set", "limits.reset", "limits.grant", "rules.reload"}

        def records():
            text = server.request("GET", "/admin/v1/audit", headers=self.admin).text
            return [json.loads(line) for line in text.splitlines()]

        wait_until(lambda: {record["author"] for record in records()} >= {"admin token", "SIGHUP"}, records)
        wait_until(lambda: expected <= {record["action"] for record in records()}, records)
        for newer, older in zip(records(), records()[1:]):
            self.assertEqual(newer["previous_hash"], older["hash"])
        self.assertEqual(len(server.request("GET", "/admin/v1/audit?limit=2", headers=self.admin).text.splitlines()), 2)

    def test_a_message_can_be_required(self):
        server = self.start("--control-require-message", "true", rules=rules(3))
        self.assert_problem(self.put(server, rules(5)), 400, "MESSAGE_REQUIRED")
        self.assertEqual(self.put(server, rules(5), "?message=more%20for%20all").status, 200)
        self.assertEqual(self.versions(server)[0]["message"], "more for all")

    def test_the_guard_refuses_a_change_that_denies_too_many_calls(self):
        server = self.start("--guard-max-newly-denied", "1 %", rules=rules(1000000))
        for number in range(1100):
            server.check(f"user{number % 20}")
        response = self.put(server, rules(2))
        self.assert_problem(response, 409, "GUARD_EXCEEDED")
        self.assertGreater(response.json()["impact"]["newly_denied_ratio"], 0.5)
        self.assertEqual(self.limit_of(server), "1000000")
        self.assertEqual(self.put(server, rules(900000)).status, 200)
        self.assert_problem(self.put(server, rules(2), "?force=1"), 400, "MESSAGE_REQUIRED")
        self.assertEqual(self.put(server, rules(2), "?force=1&message=incident").status, 200)
        self.assertEqual(server.request("POST", "/admin/v1/rules/versions/1.1/restore").status, 200)

    def test_a_dry_run_shows_the_impact_and_stores_nothing(self):
        server = self.start(rules=rules(1000000))
        few = self.put(server, rules(2), "?dry_run=1").json()
        self.assertIsNone(few["impact"])
        self.assertTrue(few["impact_unavailable"])
        for number in range(1100):
            server.check(f"user{number % 20}")
        answer = self.put(server, rules(2), "?dry_run=1").json()
        self.assertEqual((answer["outcome"], answer["impact"]["newly_denied_callers"]), ("valid", 20))
        self.assertEqual(len(self.versions(server)), 1)

    def test_the_sampled_calls_are_exported_with_hashed_keys(self):
        server = self.start(rules=rules(100))
        for _ in range(3):
            server.check("alice-secret")
        hashed = server.request("GET", "/admin/v1/traffic")
        self.assertEqual((hashed.status, len(hashed.text.splitlines())), (200, 3), hashed.text)
        self.assertNotIn("alice-secret", hashed.text)
        self.assertFalse([record for record in self.audit(server) if record["action"] == "traffic.export"])
        self.assertIn("alice-secret", server.request("GET", "/admin/v1/traffic?keys=plain").text)
        self.assertEqual(self.audit(server)[0]["action"], "traffic.export")

    def test_nodes_are_listed_with_their_version(self):
        server = self.start(rules=rules(3))
        (node,) = self.nodes(server)
        self.assertEqual((node["version"], node["state"]), ("1.1", "ok"))
        self.assertEqual(node["address"], f"127.0.0.1:{server.http}")


class Redis(Disk):
    def start(self, *flags, **options):
        self.redis = self.enterContext(RedisServer())
        return self.serve_store(*flags, store=self.redis.url, **options)


if __name__ == "__main__":
    unittest.main()
