"""The server under load from wrk and redis-benchmark: it loses nothing and counts right, whatever operators do."""

import itertools
import json
import signal
import subprocess
import unittest
from pathlib import Path

from support.environment import SANITIZED, TIMEOUT, scaled, wait_until
from support.files import replace_file, write_rules
from support.sluice import ServerTest

SECONDS = 1 if SANITIZED else 3
LIMIT = scaled(1000)


def rules_of(version):
    # The bucket is full at first, and gets the next token long after the test.
    return f"rules: [{{ id: api, version: {version}, limit: {LIMIT}/day }}]\n"


def reloads(server):
    return len(server.log_lines("rules loaded") + server.log_lines("rules reload failed"))


class Wrk:
    """Calls one path with 32 connections."""

    def __init__(self, server, path):
        self.process = subprocess.Popen(
            [
                "wrk", "-t", "1", "-c", "32", "-d", f"{SECONDS}s", "--timeout", f"{TIMEOUT}s",
                "-s", str(Path(__file__).with_name("count_answers.lua")), f"http://127.0.0.1:{server.http}{path}",
            ],
            stdout=subprocess.PIPE,
            text=True,
        )  # fmt: skip

    def is_running(self):
        return self.process.poll() is None

    def answers(self):
        output, _ = self.process.communicate(timeout=TIMEOUT)
        return json.loads(output.splitlines()[-1])


class Load(ServerTest):
    def setUp(self):
        self.rules = write_rules(self.folder, rules_of(1))
        self.server = self.serve("--rules", self.rules)

    def replace_rules(self, _, version):
        replace_file(self.rules, rules_of(version))

    def rewrite_rules(self, server, version):
        self.rules.write_text(rules_of(version), encoding="utf-8")
        server.process.send_signal(signal.SIGHUP)

    def break_rules(self, server, version):
        replace_file(self.rules, f"rules: [{{ id: api, version: {version}, limt: 1 }}]\n")
        server.process.send_signal(signal.SIGHUP)

    def assert_none_lost(self, answers):
        self.assertEqual((answers["other"], answers["lost"]), (0, 0), answers)
        self.assertGreater(answers["allowed"] + answers["denied"], LIMIT)

    def test_exactly_what_the_limit_holds_is_allowed(self):
        with self.server as server:
            answers = Wrk(server, "/api/v1/rate-limit/check?key=alice").answers()
            self.assert_none_lost(answers)
            self.assertEqual(answers["allowed"], LIMIT)

    def test_reloads_lose_nothing_and_forget_nothing(self):
        with self.server as server:
            load = Wrk(server, "/api/v1/rate-limit/check?key=alice")
            commands = subprocess.Popen(
                ["redis-benchmark", "-p", str(server.resp), "-n", str(scaled(200000)), "-c", "8", "-P", "8", "-q",
                 "SLUICE.CHECK", "api_key", "bob"],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )  # fmt: skip
            changes = (self.replace_rules, self.rewrite_rules, self.break_rules)
            for version, change in enumerate(itertools.cycle(changes), 2):
                if version > 4 and not load.is_running():
                    break
                before = reloads(server)
                change(server, version)
                wait_until(lambda: reloads(server) > before)
            answers = load.answers()
            self.assert_none_lost(answers)
            self.assertEqual(answers["allowed"], LIMIT)
            output, _ = commands.communicate(timeout=TIMEOUT)
            self.assertEqual(commands.returncode, 0, output)
            self.assertNotIn("rror", output)
            for outcome, count in (("allowed", LIMIT), ("denied", scaled(200000) - LIMIT)):
                self.assertEqual(server.metric("rate_limiter_calls_total", protocol="resp", outcome=outcome), count)

    def test_limits_are_switched_off_and_on_and_none_is_lost(self):
        with self.server as server:
            load = Wrk(server, "/api/ping")
            for mode in itertools.cycle(("shadow", "off", "on")):
                if not load.is_running():
                    break
                response = server.request("PUT", "/admin/enforcement", {"enforcement": mode})
                self.assertEqual(response.status, 200, response)
            answers = load.answers()
            self.assert_none_lost(answers)
            self.assertGreater(answers["allowed"], LIMIT)


if __name__ == "__main__":
    unittest.main()
