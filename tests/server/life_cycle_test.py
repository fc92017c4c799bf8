"""The server as an operator starts, changes and ends it, and what a newcomer tries first."""

import ctypes
import json
import os
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from running import PATIENCE, Server, rules_in, until, write

THREE_A_DAY = "rules: [{ id: api, algorithm: fixed_window, limit: 3, window: 1d }]\n"


WAIT_FOR_THREAD = 0x40000000  # __WALL: of any kind.


def stop_a_loop(process):
    """Lets one thread of a child stand still, not the first, as a debugger does; None: that is not allowed."""
    seize, interrupt = 0x4206, 0x4207
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    thread = max(int(task) for task in os.listdir(f"/proc/{process}/task") if int(task) != process)
    nothing = ctypes.c_void_p(0)
    for request in (seize, interrupt):
        if ptrace(ctypes.c_long(request), ctypes.c_long(thread), nothing, nothing) != 0:
            return None
    os.waitpid(thread, WAIT_FOR_THREAD)
    return thread


class FirstSteps(unittest.TestCase):
    def test_the_curl_that_is_printed_works(self):
        with Server() as server:
            status, headers, _ = server.ask("GET", "/api/ping", headers={"X-API-Key": "demo-key"})
            self.assertEqual(status, 200)
            self.assertEqual((headers["X-RateLimit-Limit"], headers["X-RateLimit-Remaining"]), ("100", "99"))

    def test_whoever_is_denied_is_told_when_to_come_back(self):
        with Server() as server:
            for _ in range(5):
                self.assertEqual(server.ask("GET", "/api/v1/rate-limit/check?endpoint=/login&ip=203.0.113.7")[0], 200)
            status, headers, text = server.ask("GET", "/api/v1/rate-limit/check?endpoint=/login&ip=203.0.113.7")
            self.assertEqual(status, 429)
            self.assertGreaterEqual(int(headers["Retry-After"]), 1)
            body = json.loads(text)
            self.assertEqual((body["allowed"], body["message"]), (False, "Rate limit exceeded"))

    def test_http_and_the_redis_protocol_share_their_budgets(self):
        with Server() as server:
            self.assertEqual(server.redis_cli("SLUICE.CHECK", "api_key", "demo-key")[:3], ["1", "100", "99"])
            _, headers, _ = server.ask("GET", "/api/ping", headers={"X-API-Key": "demo-key"})
            self.assertEqual(headers["X-RateLimit-Remaining"], "98")

    def test_cl_throttle_answers_as_redis_cell_does(self):
        with Server() as server:
            self.assertEqual(server.redis_cli("CL.THROTTLE", "user", "1", "1", "3600"), ["0", "2", "1", "-1", "3600"])
            self.assertEqual(server.redis_cli("CL.THROTTLE", "user", "1", "1", "3600")[:3], ["0", "2", "0"])
            limited = server.redis_cli("CL.THROTTLE", "user", "1", "1", "3600")
            self.assertEqual(limited[:3], ["1", "2", "0"])
            self.assertGreater(int(limited[3]), 3500)
            self.assertEqual(server.redis_cli("DEL", "user"), ["1"])
            self.assertEqual(server.redis_cli("CL.THROTTLE", "user", "1", "1", "3600")[0], "0")

    def test_health_metrics_and_the_description_are_there(self):
        with Server() as server:
            server.check("alice")
            self.assertEqual(server.ask("GET", "/livez")[0], 200)
            self.assertEqual(server.ask("GET", "/readyz")[0], 200)
            metrics = server.ask("GET", "/metrics")[2]
            self.assertIn('rate_limiter_calls_total{protocol="http",outcome="allowed"} 1', metrics)
            self.assertNotIn("alice", metrics)
            _, headers, text = server.ask("GET", "/metrics", headers={"Accept": "application/openmetrics-text"})
            self.assertTrue(headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0"))
            self.assertTrue(text.endswith("# EOF\n"))
            self.assertEqual(json.loads(server.ask("GET", "/openapi.json")[2])["openapi"], "3.1.0")


class Life(unittest.TestCase):
    def test_a_wrong_setting_is_told_and_nothing_starts(self):
        told = subprocess.run(
            [os.environ["SLUICE"], "serve", "--threads", "many", "--enforcement", "maybe", "--http", ":99999"],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        self.assertEqual(told.returncode, 2)
        self.assertIn("\n--threads: 'many' is not a whole number", told.stderr)
        self.assertIn("\n--enforcement: 'maybe' is none of on shadow off", told.stderr)
        self.assertIn("\n--http-listen: ", told.stderr)

    def test_settings_come_from_the_environment_too(self):
        told = subprocess.run(
            [os.environ["SLUICE"], "serve", "--print-config", "--threads", "3"],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=True,
            env={**os.environ, "SLUICE_LOG_FORMAT": "json", "SLUICE_THREADS": "7"},
        )
        self.assertIn("threads: 3\n", told.stdout)
        self.assertIn("format: json\n", told.stdout)

    def test_the_document_names_every_setting(self):
        printed = subprocess.run(
            [os.environ["SLUICE"], "serve", "--print-config"], capture_output=True, text=True, timeout=PATIENCE, check=True
        ).stdout
        document = (Path(__file__).resolve().parents[2] / "docs" / "server.md").read_text(encoding="utf-8")
        section = ""
        for line in printed.splitlines():
            indented = line.startswith(" ")
            name, _, value = line.strip().partition(":")
            if not indented:
                section = "" if value else name + "."
            if value:
                self.assertIn(f"`{section if indented else ''}{name}`", document)

    def test_an_address_that_is_taken_is_told(self):
        with Server() as server:
            told = subprocess.run(
                [os.environ["SLUICE"], "serve", "--http", f"127.0.0.1:{server.http}", "--resp", "none", "--grpc", "none"],
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=False,
            )
            self.assertEqual(told.returncode, 1)
            self.assertIn("http.listen: address in use", told.stderr)

    def test_rules_with_mistakes_stop_the_start_with_every_mistake(self):
        with tempfile.TemporaryDirectory() as folder:
            rules = rules_in(folder, "rules: [{ id: a, limt: 3 }, { id: b, limit: x }]")
            told = subprocess.run(
                [os.environ["SLUICE"], "serve", "--rules", str(rules)],
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=False,
            )
            self.assertEqual(told.returncode, 1)
            self.assertIn("did you mean `limit`", told.stderr)
            self.assertIn("rules[1]", told.stderr)

    def test_everything_that_only_shows_in_starting_is_told_at_once(self):
        told = subprocess.run(
            [os.environ["SLUICE"], "serve", "--rules", "/nowhere/rules.yaml", "--admin-token-file", "/nowhere/token"],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        self.assertEqual(told.returncode, 1)
        self.assertIn("admin.token_file: /nowhere/token can't be read", told.stderr)
        self.assertIn("/nowhere/rules.yaml: can't be opened", told.stderr)

    def test_a_loop_that_is_stuck_does_not_keep_the_process(self):
        with Server() as server:
            thread = stop_a_loop(server.process.pid)
            if thread is None:
                self.skipTest("this process may not trace another")
            server.ends_with = (1,)
            server.process.send_signal(signal.SIGTERM)
            # Whoever traces a thread must take note of its end before the process is gone.
            self.assertTrue(until(lambda: os.waitpid(thread, WAIT_FOR_THREAD | os.WNOHANG)[0] == thread))
            self.assertEqual(server.process.wait(PATIENCE), 1)
            server.reader.join(PATIENCE)
            self.assertTrue(any("a loop did not end in time" in line for line in server.log), server.log)

    def test_sigterm_lets_it_end_well(self):
        with Server() as server:
            self.assertEqual(server.check("alice")[0], 200)
            self.assertEqual(server.end(), 0)

    def test_changed_rules_take_effect_and_bad_ones_do_not(self):
        with tempfile.TemporaryDirectory() as folder:
            rules = rules_in(folder, THREE_A_DAY)
            with Server("--rules", str(rules)) as server:
                self.assertEqual(server.check("alice")[1]["X-RateLimit-Limit"], "3")
                write(rules, THREE_A_DAY.replace("limit: 3", "limit: 50"))
                self.assertTrue(until(lambda: server.check("bob")[1]["X-RateLimit-Limit"] == "50"))
                write(rules, "rules: [{ id: api, limt: 7 }]")
                self.assertTrue(until(lambda: any("limt" in line for line in server.log)))
                self.assertEqual(server.check("carol")[1]["X-RateLimit-Limit"], "50")


class Administration(unittest.TestCase):
    def test_with_a_token_only_those_who_show_it_may_reset(self):
        with Server("--admin-token", "opensesame") as server:
            self.assertIn(server.ask("DELETE", "/api/v1/rate-limit/reset?key=alice")[0], (401, 403))
            status, _, _ = server.ask(
                "DELETE", "/api/v1/rate-limit/reset?key=alice", headers={"Authorization": "Bearer opensesame"}
            )
            self.assertEqual(status, 204)
            self.assertRegex(" ".join(server.redis_cli("DEL", "alice")), "NOAUTH|NOPERM")

    def test_limits_are_switched_while_it_runs(self):
        with Server() as server:
            throttle = ("CL.THROTTLE", "k", "0", "1", "3600")
            own_limit = json.dumps({"key": "k", "limit": {"algorithm": "fixed_window", "limit": 1, "window": 3600}})

            def limited():
                by_http = server.ask("POST", "/api/v1/rate-limit/check", own_limit)[0] == 429
                return server.redis_cli(*throttle)[0].endswith("1"), by_http

            self.assertEqual(limited(), (False, False))
            self.assertEqual(limited(), (True, True))
            for mode, expected in (("shadow", False), ("off", False), ("on", True)):
                body = json.dumps({"enforcement": mode})
                self.assertEqual(server.ask("PUT", "/admin/enforcement", body)[0], 200)
                self.assertEqual(json.loads(server.ask("GET", "/admin/enforcement")[2]), {"enforcement": mode})
                self.assertEqual(limited(), (expected, expected), mode)

    def test_the_log_level_is_switched_while_it_runs(self):
        with Server("--log-level", "error") as server:
            self.assertEqual(server.ask("PUT", "/admin/log-level", '{"level":"info"}')[0], 200)
            self.assertEqual(server.end(), 0)
            server.reader.join(PATIENCE)
            self.assertTrue(any("ending" in line for line in server.log), server.log)

    def test_an_inspection_tells_of_state_and_grants(self):
        with tempfile.TemporaryDirectory() as folder:
            rules = Path(folder) / "rules.yaml"
            rules.write_text("rules: [{ id: api, limit: 3/day }]", encoding="utf-8")
            with Server("--rules", str(rules)) as server:
                before = time.time() * 1000
                server.check("alice")
                server.ask("POST", "/admin/grant", '{"key":"alice","amount":5}')
                (limit,) = json.loads(server.ask("GET", "/admin/inspect?key=alice")[2])["limits"]
                self.assertEqual((limit["level"], limit["grant"], limit["remaining"]), (2, 5, 7))
                self.assertLess(abs(limit["touchedAtMs"] - before), PATIENCE * 1000)

    def test_clients_are_known_by_address_and_port(self):
        with Server() as server:
            self.assertRegex(" ".join(server.redis_cli("CLIENT", "INFO")), r"addr=127\.0\.0\.1:[1-9]\d+ ")
            self.assertEqual(server.redis_cli("CONFIG", "GET", "timeout"), ["timeout", "300"])


if __name__ == "__main__":
    unittest.main()
