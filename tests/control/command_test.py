"""`sluice rules` against real servers, as an operator and a pipeline use it."""

import json
import os
import unittest

from support.control import ControlTest, rules
from support.redis_servers import RedisServer
from support.sluice import run_sluice

TOKEN = "an-admin-token-of-this-test"


class Command(ControlTest):
    def run_rules(self, server, *arguments, token=None, **options):
        environment = {name: value for name, value in os.environ.items() if name != "SLUICE_ADMIN_TOKEN"}
        if token:
            environment["SLUICE_ADMIN_TOKEN"] = token
        url = f"http://127.0.0.1:{server.http}"
        return run_sluice("rules", *arguments, "--server", url, env=environment, **options)

    def write(self, text, name="new.yaml"):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def assert_exit(self, completed, code):
        self.assertEqual(completed.returncode, code, completed.stdout + completed.stderr)

    def test_the_life_of_a_change(self):
        server = self.serve_store(rules=rules(3))
        completed = self.run_rules(server, "get")
        self.assert_exit(completed, 0)
        self.assertEqual(completed.stdout, rules(3))
        self.assert_exit(self.run_rules(server, "diff", self.write(rules(3))), 0)
        completed = self.run_rules(server, "diff", self.write(rules(5)))
        self.assert_exit(completed, 2)
        self.assertRegex(completed.stdout, r"(?m)^ +api +limits\.\S+ +loosens ")
        self.assert_exit(self.run_rules(server, "apply", self.write(rules(5)), "--dry-run"), 2)
        self.assertEqual(self.limit_of(server), "3")
        completed = self.run_rules(server, "apply", self.write(rules(5)), "--message", "more: 5 & up", "--wait", "20s")
        self.assert_exit(completed, 0)
        self.assertIn("committed as version 1.2\n", completed.stdout)
        self.assertIn("applied on 1 of 1 nodes\n", completed.stderr)
        self.assertEqual(self.limit_of(server), "5")
        completed = self.run_rules(server, "apply", self.write(rules(5)))
        self.assert_exit(completed, 0)
        self.assertIn("unchanged", completed.stdout)
        completed = self.run_rules(server, "show", "1")
        self.assert_exit(completed, 0)
        self.assertEqual(completed.stdout, rules(3))
        self.assert_exit(self.run_rules(server, "restore", "1.1", "--message", "back", "--wait", "20s"), 0)
        self.assertEqual(self.limit_of(server), "3")
        completed = self.run_rules(server, "history", "--json")
        self.assert_exit(completed, 0)
        versions = json.loads(completed.stdout)["versions"]
        self.assertEqual(
            [(version["version"], version["source"], version["message"]) for version in versions[:2]],
            [("1.3", "restored", "back"), ("1.2", "api", "more: 5 & up")],
        )
        completed = self.run_rules(server, "nodes")
        self.assert_exit(completed, 0)
        self.assertRegex(completed.stdout, r"(?m)^[0-9a-f]{16} +127\.0\.0\.1:\d+ +1\.3 +ok ")

    def test_errors_have_their_place_in_the_file(self):
        server = self.serve_store(rules=rules(3))
        path = self.write("rules:\n  - { id: a, limt: 5/s }\n")
        completed = self.run_rules(server, "apply", path)
        self.assert_exit(completed, 1)
        self.assertRegex(completed.stderr, rf"(?m)^{path}:2:\d+: rules\[0\]\.limt: .*did you mean `limit`")
        self.assertIn("RULES_INVALID", completed.stderr)
        for arguments in (("apply", self.folder / "missing.yaml"), ("show", "1.99"), ("restore", "99"), ("apply",), ("x",)):
            completed = self.run_rules(server, *arguments)
            self.assert_exit(completed, 1)
            self.assertNotEqual(completed.stderr, "")

    def test_a_version_that_was_replaced_is_not_overwritten(self):
        server = self.serve_store(rules=rules(3))
        tag = self.etag(server)
        self.commit(server, rules(4))
        completed = self.run_rules(server, "apply", self.write(rules(5)), "--if-match", tag)
        self.assert_exit(completed, 1)
        self.assertIn("PRECONDITION_FAILED", completed.stderr)
        self.assertEqual(self.limit_of(server), "4")

    def test_the_token_comes_from_the_environment_or_a_file(self):
        server = self.serve_store("--admin-token", TOKEN, rules=rules(3))
        self.assert_exit(self.run_rules(server, "get"), 1)
        self.assert_exit(self.run_rules(server, "get", token="x" * 20), 1)
        self.assert_exit(self.run_rules(server, "get", token=TOKEN), 0)
        self.assert_exit(self.run_rules(server, "get", "--token-file", self.write(TOKEN + "\n", "token")), 0)

    def test_servers_that_do_not_answer_or_have_a_file_are_reported(self):
        server = self.serve(rules=rules(3))
        completed = self.run_rules(server, "apply", self.write(rules(5)))
        self.assert_exit(completed, 1)
        self.assertIn("READ_ONLY_SOURCE", completed.stderr)
        server.stop()
        completed = self.run_rules(server, "get")
        self.assert_exit(completed, 1)
        self.assertIn("can't connect", completed.stderr)

    def test_apply_names_the_nodes_that_lag(self):
        redis = self.enterContext(RedisServer())
        options = {"store": redis.url, "store_deadline": "1s"}
        one = self.serve_store(rules=rules(3), state="one", **options)
        two = self.serve_store(state="two", **options)
        two.process.send_signal(19)  # SIGSTOP
        try:
            completed = self.run_rules(one, "apply", self.write(rules(5)), "--wait", "300ms")
        finally:
            two.process.send_signal(18)  # SIGCONT
        self.assert_exit(completed, 1)
        self.assertIn("applied on 1 of 2 nodes only:\n", completed.stderr)
        self.assertIn(f"(127.0.0.1:{two.http})", completed.stderr)


if __name__ == "__main__":
    unittest.main()
