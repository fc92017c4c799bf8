"""Records that operators change while servers run, with rules from a file: the enforcement of the fleet is one."""

import datetime
import json
import os
import threading
import unittest

from support.control import ControlTest, rules
from support.environment import wait_until
from support.redis_servers import RedisServer, Sentinel

LIMIT = rules(1)


def after(**delta):
    """A time to come, as the API takes it."""
    time = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(**delta)
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


class RecordsTest(ControlTest):
    def enforcement(self, server):
        """What this server enforces."""
        return server.request("GET", "/admin/enforcement").json()["enforcement"]

    def fleet(self, server):
        """What is set for all servers."""
        return server.request("GET", "/admin/v1/enforcement").json()["fleet"]

    def try_to_set(self, server, enforcement, **fields):
        body = json.dumps({"enforcement": enforcement} | fields)
        return server.request("PUT", "/admin/v1/enforcement", body)

    def set(self, server, enforcement, **fields):
        response = self.try_to_set(server, enforcement, **fields)
        self.assertEqual(response.status, 200, response.text)
        return response.json()

    def set_soon(self, server, enforcement):
        """While the store comes back."""
        answers = []

        def succeeds():
            answers.append(self.try_to_set(server, enforcement))
            return answers[-1].status == 200

        wait_until(succeeds, lambda: answers[-1].text)
        return answers[-1].json()

    def wait_for(self, server, enforcement):
        wait_until(lambda: self.enforcement(server) == enforcement, lambda: f"{enforcement} on {server.http}")


class OneServer(RecordsTest):
    def start(self, *flags, **options):
        return self.serve("--state-dir", self.folder / "state", *flags, rules=LIMIT, **options)

    def test_the_state_directory_is_created_by_the_first_write(self):
        server = self.start()
        self.assertIsNone(self.fleet(server))
        self.assertEqual(self.audit(server), [])
        self.assertFalse((self.folder / "state").exists())
        answer = self.set(server, "shadow", message="deploy of the new gateway")
        self.assertEqual((answer["enforcement"], answer["applied"], answer["replicated"]), ("shadow", True, None))
        self.assertTrue((self.folder / "state").is_dir())

    def test_a_record_survives_a_crash(self):
        server = self.start()
        self.set(server, "off", message="incident 7")
        server.kill()
        server = self.start()
        self.assertEqual(self.enforcement(server), "off")
        fleet = self.fleet(server)
        self.assertEqual((fleet["enforcement"], fleet["author"], fleet["message"]), ("off", "local", "incident 7"))
        self.assertIsNotNone(fleet["expires_at"])
        self.assert_chain(server)
        self.assertEqual([record["action"] for record in self.audit(server)], ["enforcement.set"])

    def test_it_expires_and_the_audit_log_says_so(self):
        server = self.start("--enforcement", "shadow")
        answer = self.set(server, "off", expires_at=after(seconds=6))
        self.assertEqual((answer["enforcement"], answer["applied"]), ("off", True))
        self.wait_for(server, "shadow")
        wait_until(lambda: self.fleet(server) is None)
        wait_until(lambda: "enforcement.expire" in [record["action"] for record in self.audit(server)])
        self.assertEqual(self.audit(server)[0]["author"], "sluice")

    def test_it_can_be_removed_and_the_servers_own_applies_again(self):
        server = self.start("--enforcement", "shadow")
        self.set(server, "off", expires_at=None)
        self.assertIsNone(self.fleet(server)["expires_at"])
        self.assertEqual(server.request("DELETE", "/admin/v1/enforcement").status, 200)
        self.assertEqual(self.enforcement(server), "shadow")
        self.assertEqual(server.request("DELETE", "/admin/v1/enforcement").status, 404)

    def test_invalid_requests_change_nothing(self):
        server = self.start()
        for body in (
            "{}",
            '{"enforcement":"maybe"}',
            '{"enforcement":1}',
            '{"enforcement":"off","expires_at":"tomorrow"}',
            '{"enforcement":"off","expires_at":"2001-01-01T00:00:00Z"}',
            '{"enforcement":"off","expires_at":5}',
            '{"enforcement":"off","until":null}',
            json.dumps({"enforcement": "off", "message": "x" * 1001}),
        ):
            response = server.request("PUT", "/admin/v1/enforcement", body)
            self.assertEqual(response.status, 400, body + response.text)
        self.assertEqual(self.enforcement(server), "on")
        self.assertFalse((self.folder / "state").exists())

    def test_rules_of_the_file_nodes_and_audit_log_can_be_read(self):
        server = self.start()
        response = self.get(server)
        self.assertEqual((response.status, response.text), (200, LIMIT))
        self.assertTrue(response.headers["ETag"].startswith('"file-'))
        again = self.get(server, {"If-None-Match": response.headers["ETag"]})
        self.assertEqual(again.status, 304)
        as_json = self.get(server, {"Accept": "application/json"}).json()
        self.assertEqual(as_json["rules"][0]["limit"], 1)
        self.assertEqual([node["state"] for node in self.nodes(server)], ["ok"])
        self.assertEqual(server.request("PUT", "/admin/log-level", '{"level":"debug"}').status, 200)
        wait_until(lambda: [record["action"] for record in self.audit(server)] == ["log_level.set"])

    def test_a_directory_that_can_not_be_used_is_an_error_of_the_writer_only(self):
        (self.folder / "state").write_text("a file", encoding="utf-8")
        server = self.start()
        wait_until(lambda: server.log_lines("state_dir can't be used"))
        self.assert_problem(self.try_to_set(server, "off"), 503, "CONTROL_STORE_UNAVAILABLE")
        self.assertEqual(server.check("someone").status, 200)
        os.remove(self.folder / "state")
        self.set_soon(server, "off")

    def test_two_processes_do_not_share_a_directory(self):
        one, two = self.start(), self.start()
        self.set(one, "off")
        self.assert_problem(self.try_to_set(two, "off"), 503, "CONTROL_STORE_UNAVAILABLE")
        self.assertEqual(self.enforcement(two), "on")

    def test_damaged_records_are_left_out_and_the_rest_stays_writable(self):
        server = self.start()
        self.set(server, "shadow")
        self.set(server, "off")
        server.kill()
        path = self.folder / "state" / "records"
        content = bytearray(path.read_bytes())
        content[content.index(b"shadow")] = ord("X")
        path.write_bytes(content)
        server = self.start()
        self.assertEqual(self.enforcement(server), "off")
        wait_until(lambda: server.log_lines("state directory was damaged"))
        self.set(server, "shadow")
        self.assertEqual(self.audit(server)[1]["action"], "records.recover")
        self.assert_chain(server)


class Fleet(RecordsTest):
    def setUp(self):
        self.redis = self.enterContext(RedisServer())

    def start(self, state, *flags, store=None, **options):
        store = store or self.redis.url
        return self.serve(
            "--state-dir", self.folder / state, *flags, rules=LIMIT, store=store, store_deadline="1s", **options
        )

    def start_three(self, **options):
        return [self.start(name, **options) for name in ("one", "two", "three")]

    def test_a_record_written_through_one_server_is_active_on_all(self):
        servers = self.start_three()
        self.set(servers[0], "shadow")
        self.assertEqual(self.enforcement(servers[0]), "shadow")
        for server in servers:
            self.wait_for(server, "shadow")
        self.set(servers[1], "off")
        for server in servers:
            self.wait_for(server, "off")
        self.assertEqual(servers[2].metric("rate_limiter_records"), 1)
        wait_until(lambda: len(self.nodes(servers[2])) == 3)
        self.assert_chain(servers[2])

    def test_the_old_route_switches_one_process(self):
        servers = self.start_three()
        servers[0].request("PUT", "/admin/enforcement", '{"enforcement":"off"}')
        self.set(servers[1], "shadow")
        for server in (servers[0], servers[2]):
            self.wait_for(server, "shadow")
        servers[2].request("PUT", "/admin/enforcement", '{"enforcement":"on"}')
        self.assertEqual(self.enforcement(servers[2]), "on")
        self.assertEqual(self.enforcement(servers[1]), "shadow")
        servers[1].request("DELETE", "/admin/v1/enforcement")
        self.wait_for(servers[0], "off")

    def test_servers_with_rules_in_the_store_and_in_files_share_records(self):
        stored = self.serve_store(state="stored", store=self.redis.url, rules=rules(3))
        from_file = self.start("file")
        self.set(from_file, "shadow")
        self.wait_for(stored, "shadow")
        answer = self.commit(stored, rules(5))
        self.assertEqual((answer["applied"], answer["of"]), (1, 1))
        self.assertEqual({node["state"] for node in self.nodes(stored)}, {"ok"})

    def test_a_flush_under_load_never_lifts_a_record(self):
        servers = self.start_three()
        self.set(servers[0], "off")
        for server in servers:
            self.wait_for(server, "off")
        stop, seen = threading.Event(), set()

        def call():
            while not stop.is_set():
                seen.add(servers[1].check("someone").status)

        thread = threading.Thread(target=call)
        thread.start()
        self.redis.send("FLUSHALL")
        wait_until(lambda: any(server.metric("rate_limiter_record_recoveries_total") for server in servers))
        for server in servers:
            wait_until(lambda server=server: server.metric("rate_limiter_records_epoch") == 2)
        stop.set()
        thread.join()
        self.assertEqual(seen, {200}, "with enforcement off, no call is denied")
        self.assertEqual(self.fleet(servers[2])["enforcement"], "off")
        self.assertIn("records.recover", [record["action"] for record in self.audit(servers[0])])
        self.set(servers[2], "shadow")
        self.wait_for(servers[0], "shadow")

    def test_records_survive_the_death_of_all_servers(self):
        servers = self.start_three()
        self.set(servers[0], "off")
        for server in servers:
            server.kill()
        self.assertEqual(self.enforcement(self.start("four")), "off")

    def test_a_server_that_starts_without_redis_has_its_records(self):
        server = self.start("one")
        self.set(server, "off")
        server.kill()
        self.redis.kill()
        server = self.start("one")
        self.assertEqual(self.enforcement(server), "off")
        self.assert_problem(self.try_to_set(server, "on"), 503, "CONTROL_STORE_UNAVAILABLE")
        # An empty Redis gets the copy.
        self.redis.start()
        wait_until(lambda: server.metric("rate_limiter_records_epoch") == 2)
        self.assertEqual(self.enforcement(self.start("two")), "off")

    def test_what_was_replicated_survives_a_failover_and_the_death_of_all_servers(self):
        sentinel = self.enterContext(Sentinel())
        servers = [self.start(name, store=sentinel.url) for name in ("one", "two")]
        self.assertTrue(self.set(servers[0], "off")["replicated"])
        for server in servers:
            server.kill()
        sentinel.primary.kill()
        wait_until(sentinel.accepts_writes)
        server = self.start("three", store=sentinel.url)
        self.wait_for(server, "off")
        self.set_soon(server, "shadow")
        self.assertEqual(self.enforcement(server), "shadow")

    def test_a_user_without_permissions_for_records_gets_an_error_and_calls_are_served(self):
        self.redis.send("ACL", "SETUSER", "default", "-hmget")
        server = self.start("one")
        self.assert_problem(self.try_to_set(server, "off"), 503, "CONTROL_STORE_UNAVAILABLE")
        self.assertEqual(server.check("someone").status, 200)
        self.redis.send("ACL", "SETUSER", "default", "+hmget")
        self.set_soon(server, "off")


if __name__ == "__main__":
    unittest.main()
