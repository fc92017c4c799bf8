"""The server as an operator starts, changes and ends it, and what a newcomer tries first."""

import ctypes
import os
import signal
import time
import unittest
from pathlib import Path

from support.environment import TIMEOUT, wait_until
from support.files import replace_file, write_rules
from support.sluice import Server, ServerTest, run_sluice

THREE_A_DAY = "rules: [{ id: api, algorithm: fixed_window, limit: 3, window: 1d }]\n"


WAIT_FOR_THREAD = 0x40000000  # __WALL: of any kind.


def stop_a_loop(process):
    """Stops a thread of a child, not the first one, as a debugger does; None: that is not permitted."""
    seize, interrupt = 0x4206, 0x4207
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    tasks = Path(f"/proc/{process}/task")
    loops = [task for task in tasks.iterdir() if "loop" in (task / "comm").read_text(encoding="utf-8")]
    thread = max(int(task.name) for task in loops)
    nothing = ctypes.c_void_p(0)
    for request in (seize, interrupt):
        if ptrace(ctypes.c_long(request), ctypes.c_long(thread), nothing, nothing) != 0:
            return None
    os.waitpid(thread, WAIT_FOR_THREAD)
    return thread


class FirstSteps(unittest.TestCase):
    def test_the_curl_that_is_printed_works(self):
        with Server() as server:
            status, headers, _ = server.request("GET", "/api/ping", headers={"X-API-Key": "demo-key"})
            self.assertEqual(status, 200)
            self.assertEqual((headers["X-RateLimit-Limit"], headers["X-RateLimit-Remaining"]), ("100", "99"))

    def test_denied_clients_learn_when_to_retry(self):
        with Server() as server:
            for _ in range(5):
                self.assertEqual(server.request("GET", "/api/v1/rate-limit/check?endpoint=/login&ip=203.0.113.7")[0], 200)
            response = server.request("GET", "/api/v1/rate-limit/check?endpoint=/login&ip=203.0.113.7")
            self.assertEqual(response.status, 429)
            self.assertGreaterEqual(int(response.headers["Retry-After"]), 1)
            body = response.json()
            self.assertEqual((body["allowed"], body["message"]), (False, "Rate limit exceeded"))

    def test_http_and_the_redis_protocol_share_their_budgets(self):
        with Server() as server:
            self.assertEqual(server.redis_cli("SLUICE.CHECK", "api_key", "demo-key")[:3], ["1", "100", "99"])
            _, headers, _ = server.request("GET", "/api/ping", headers={"X-API-Key": "demo-key"})
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
            self.assertEqual(server.request("GET", "/livez")[0], 200)
            self.assertEqual(server.request("GET", "/readyz")[0], 200)
            self.assertEqual(server.metric("rate_limiter_calls_total", protocol="http", outcome="allowed"), 1)
            self.assertNotIn("alice", server.request("GET", "/metrics").text)
            _, headers, text = server.request("GET", "/metrics", headers={"Accept": "application/openmetrics-text"})
            self.assertTrue(headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0"))
            self.assertTrue(text.endswith("# EOF\n"))
            self.assertEqual(server.request("GET", "/openapi.json").json()["openapi"], "3.1.0")

    def test_the_links_of_the_index_lead_somewhere(self):
        with Server() as server:
            index = server.request("GET", "/").json()
            self.assertEqual(index["name"], "sluice")
            self.assertIn(index["version"], run_sluice("--version").stdout)
            self.assertLessEqual({"health", "metrics", "openapi"}, set(index["links"]))
            described = server.request("GET", index["links"]["openapi"]).json()["paths"]
            for name, path in index["links"].items():
                self.assertIn(path, described)
                # A check needs a key; all others are complete.
                self.assertEqual(server.request("GET", path).status, 400 if name == "check" else 200, name)
            self.assertTrue((Path(__file__).resolve().parents[2] / index["documentation"]).is_file())


class LifeCycle(ServerTest):
    def test_a_wrong_setting_is_reported_and_nothing_starts(self):
        completed = run_sluice("serve", "--threads", "many", "--enforcement", "maybe", "--http", ":99999")
        self.assertEqual(completed.returncode, 2)
        self.assertIn("\n--threads: 'many' is not a whole number", completed.stderr)
        self.assertIn("\n--enforcement: 'maybe' is none of on shadow off", completed.stderr)
        self.assertIn("\n--http-listen: ", completed.stderr)

    def test_settings_come_from_the_environment_too(self):
        environment = {**os.environ, "SLUICE_LOG_FORMAT": "json", "SLUICE_THREADS": "7"}
        completed = run_sluice("serve", "--print-config", "--threads", "3", env=environment)
        self.assertIn("threads: 3\n", completed.stdout)
        self.assertIn("format: json\n", completed.stdout)

    def test_the_document_names_every_setting(self):
        printed = run_sluice("serve", "--print-config").stdout
        self.assertIn("threads: ", printed)
        document = (Path(__file__).resolve().parents[2] / "docs" / "server.md").read_text(encoding="utf-8")
        section = ""
        for line in printed.splitlines():
            indented = line.startswith(" ")
            name, _, value = line.strip().partition(":")
            if not indented:
                section = "" if value else name + "."
            if value:
                self.assertIn(f"`{section if indented else ''}{name}`", document)

    def test_an_address_that_is_in_use_is_reported(self):
        with Server() as server:
            completed = run_sluice("serve", "--http", f"127.0.0.1:{server.http}", "--resp", "none", "--grpc", "none")
            self.assertEqual(completed.returncode, 1)
            self.assertIn("http.listen: address in use", completed.stderr)

    def test_all_errors_of_a_rule_file_are_reported_at_the_start(self):
        rules = write_rules(self.folder, "rules: [{ id: a, limt: 3 }, { id: b, limit: x }]")
        completed = run_sluice("serve", "--rules", rules)
        self.assertEqual(completed.returncode, 1)
        self.assertIn("did you mean `limit`", completed.stderr)
        self.assertIn("rules[1]", completed.stderr)

    def test_all_errors_that_show_only_at_the_start_are_reported_at_once(self):
        completed = run_sluice("serve", "--rules", "/nowhere/rules.yaml", "--admin-token-file", "/nowhere/token")
        self.assertEqual(completed.returncode, 1)
        self.assertIn("admin.token_file: /nowhere/token can't be read", completed.stderr)
        self.assertIn("/nowhere/rules.yaml: can't be read", completed.stderr)

    def test_a_loop_that_is_stuck_does_not_keep_the_process(self):
        with Server() as server:
            thread = stop_a_loop(server.process.pid)
            if thread is None:
                self.skipTest("this process may not trace another")
            server.exit_codes = (1,)
            server.process.send_signal(signal.SIGTERM)
            # A tracer must wait for the thread before the process can exit.
            wait_until(lambda: os.waitpid(thread, WAIT_FOR_THREAD | os.WNOHANG)[0] == thread)
            self.assertEqual(server.wait(), 1)
            self.assertTrue(server.log_lines("an event loop did not stop"), server.log)

    def test_sigterm_lets_it_end_well(self):
        with Server() as server:
            self.assertEqual(server.check("alice")[0], 200)
            self.assertEqual(server.stop(), 0)

    def test_changed_rules_take_effect_and_bad_ones_do_not(self):
        server = self.serve(rules=THREE_A_DAY)
        self.assertEqual(server.check("alice").headers["X-RateLimit-Limit"], "3")
        rules = self.folder / "rules.yaml"
        replace_file(rules, THREE_A_DAY.replace("limit: 3", "limit: 50"))
        wait_until(lambda: server.check("bob").headers["X-RateLimit-Limit"] == "50")
        replace_file(rules, "rules: [{ id: api, limt: 7 }]")
        wait_until(lambda: server.log_lines("limt"))
        self.assertEqual(server.check("carol").headers["X-RateLimit-Limit"], "50")


class Administration(ServerTest):
    def test_with_a_token_only_those_who_show_it_may_reset(self):
        with Server("--admin-token", "opensesame-opensesame") as server:
            self.assertIn(server.request("DELETE", "/api/v1/rate-limit/reset?key=alice")[0], (401, 403))
            status, _, _ = server.request(
                "DELETE", "/api/v1/rate-limit/reset?key=alice", headers={"Authorization": "Bearer opensesame-opensesame"}
            )
            self.assertEqual(status, 204)
            self.assertRegex(" ".join(server.redis_cli("DEL", "alice")), "NOAUTH|NOPERM")

    def test_limits_are_switched_while_it_runs(self):
        with Server() as server:
            throttle = ("CL.THROTTLE", "k", "0", "1", "3600")
            own_limit = {"key": "k", "limit": {"algorithm": "fixed_window", "limit": 1, "window": 3600}}

            def limited():
                by_http = server.request("POST", "/api/v1/rate-limit/check", own_limit)[0] == 429
                return server.redis_cli(*throttle)[0].endswith("1"), by_http

            self.assertEqual(limited(), (False, False))
            self.assertEqual(limited(), (True, True))
            for mode, expected in (("shadow", False), ("off", False), ("on", True)):
                self.assertEqual(server.request("PUT", "/admin/enforcement", {"enforcement": mode}).status, 200)
                self.assertEqual(server.request("GET", "/admin/enforcement").json(), {"enforcement": mode})
                self.assertEqual(limited(), (expected, expected), mode)

    def test_the_log_level_is_switched_while_it_runs(self):
        with Server("--log-level", "error") as server:
            self.assertEqual(server.request("PUT", "/admin/log-level", {"level": "info"}).status, 200)
            self.assertEqual(server.stop(), 0)
            self.assertTrue(server.log_lines("draining"), server.log)

    def test_an_inspection_shows_state_and_grants(self):
        server = self.serve(rules="rules: [{ id: api, limit: 3/day }]")
        before = time.time() * 1000
        server.check("alice")
        server.request("POST", "/admin/grant", {"key": "alice", "amount": 5})
        (limit,) = server.request("GET", "/admin/inspect?key=alice").json()["limits"]
        self.assertEqual((limit["level"], limit["grant"], limit["remaining"]), (2, 5, 7))
        self.assertLess(abs(limit["touchedAtMs"] - before), TIMEOUT * 1000)

    def test_clients_are_known_by_address_and_port(self):
        with Server() as server:
            self.assertRegex(" ".join(server.redis_cli("CLIENT", "INFO")), r"addr=127\.0\.0\.1:[1-9]\d+ ")
            self.assertEqual(server.redis_cli("CONFIG", "GET", "timeout"), ["timeout", "300"])


if __name__ == "__main__":
    unittest.main()
