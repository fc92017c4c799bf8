"""The server as Redis' own tools see it: redis-cli and redis-benchmark."""

import subprocess
import unittest

from support.environment import TIMEOUT, scaled
from support.resp import encode
from support.sluice import Server

class RedisCli(unittest.TestCase):
    def test_both_protocols_are_spoken(self):
        with Server() as server:
            for version in ("-2", "-3"):
                self.assertEqual(server.redis_cli(version, "PING"), ["PONG"])
                output = server.redis_cli(version, "HELLO")
                self.assertIn("proto", " ".join(output))
                output = server.redis_cli(version, "CL.THROTTLE", f"key{version}", "9", "1", "60")
                self.assertEqual(output[:3], ["0", "10", "9"])

    def test_counters_are_incremented_read_and_deleted(self):
        hit = ("INCREX", "user", "BYINT", "2", "UBOUND", "5", "EX", "3600", "ENX")
        with Server() as server:
            for version in ("-2", "-3"):
                self.assertEqual(server.redis_cli(version, "GET", "user"), [""], "null")
                self.assertEqual(server.redis_cli(version, "PTTL", "user"), ["-2"])
                self.assertEqual([server.redis_cli(version, *hit) for _ in range(3)], [["2", "2"], ["4", "2"], ["4", "0"]])
                self.assertEqual(server.redis_cli(version, "GET", "user"), ["4"])
                self.assertIn(int(server.redis_cli(version, "PTTL", "user")[0]), range(1, 3_600_001))
                self.assertEqual(server.redis_cli(version, "DEL", "user"), ["1"])
            self.assertIn("needs EX or PX, and ENX", server.redis_cli("INCREX", "user", "EX", "60")[0])

    def test_commands_come_through_a_pipe_too(self):
        throttle = encode("CL.THROTTLE", "user", 4, 1, 3600).decode()
        with Server() as server:
            completed = subprocess.run(
                ["redis-cli", "-p", str(server.resp), "--pipe"],
                input=throttle * 5000,
                capture_output=True,
                text=True,
                timeout=TIMEOUT,
                check=False,
            )
            self.assertIn("errors: 0, replies: 5000", completed.stdout)
            self.assertEqual(server.redis_cli("CL.THROTTLE", "user", "4", "1", "3600", "0")[2], "0")

    def test_only_the_right_password_opens(self):
        with Server("--admin-token", "opensesame-opensesame") as server:
            self.assertRegex(server.redis_cli("DEL", "k")[0], "^NOAUTH")
            self.assertIn("WRONGPASS", " ".join(server.redis_cli("AUTH", "guess")))
            self.assertEqual(server.redis_cli("--no-auth-warning", "-a", "opensesame-opensesame", "DEL", "k"), ["0"])

    def test_rules_are_asked_looked_at_and_reset(self):
        call = ("endpoint", "/login", "ip", "203.0.113.9")
        with Server() as server:
            for left in ("4", "3", "2", "1", "0"):
                self.assertEqual(server.redis_cli("SLUICE.CHECK", *call)[:3], ["1", "5", left])
            self.assertEqual(server.redis_cli("SLUICE.PEEK", *call)[:3], ["0", "5", "0"])
            denied = server.redis_cli("SLUICE.CHECK", *call)
            self.assertEqual(denied[0], "0")
            self.assertGreater(int(denied[3]), 0)
            self.assertEqual(server.redis_cli("SLUICE.RESET", *call), ["2"])
            self.assertEqual(server.redis_cli("SLUICE.CHECK", *call)[:3], ["1", "5", "4"])


class RedisBenchmark(unittest.TestCase):
    def run_it(self, server, count, pipeline, *command):
        completed = subprocess.run(
            ["redis-benchmark", "-q", "-p", str(server.resp), "-n", str(count), "-c", "20", "-P", str(pipeline), *command],
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
        self.assertEqual((completed.returncode, completed.stderr), (0, ""), completed.stdout)
        self.assertIn("requests per second", completed.stdout)

    def test_exactly_what_the_limit_holds_is_allowed(self):
        count = scaled(100000)
        with Server() as server:
            self.run_it(server, count, 16, "CL.THROTTLE", "user", "999", "1", "2400")
            allowed = server.metric("rate_limiter_calls_total", protocol="resp", outcome="allowed")
            denied = server.metric("rate_limiter_calls_total", protocol="resp", outcome="denied")
            # The next token comes long after the test.
            self.assertEqual((allowed, denied), (1000, count - 1000))

    def test_its_own_tests_run(self):
        with Server() as server:
            self.run_it(server, scaled(20000), 1, "-t", "ping_mbulk,ping_inline")


if __name__ == "__main__":
    unittest.main()
