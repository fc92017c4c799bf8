"""The configurations of examples/ as they are, but for their ports: real proxies, a real upstream."""

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

from support import http1
from support.environment import TIMEOUT, run_in_parallel, wait_until
from support.http1 import Upstream
from support.ports import free_port
from support.sluice import ServerTest

RULES = """
deny: [blocked-key]
endpoints: ["/items/{id}"]
rules:
  - { id: login, match: { endpoint: /login }, per: ip, limit: 2/m,
      denial: { body: "slow down: {retry_after_seconds}", headers: { X-Reason: login } } }
  - { id: items, match: { endpoint: "/items/{id}", method: POST }, per: api_key, limit: 1/m }
  - { id: general, match: { endpoint: /general }, algorithm: fixed_window, limit: 3, window: 1h }
"""


class Proxy:
    """A proxy with one of the examples, in front of an upstream."""

    def __init__(self, command, files, ports):
        self.folder = tempfile.TemporaryDirectory()
        self.port = free_port()
        for file in files:
            text = file.read_text(encoding="utf-8")
            for standing, real in {**ports, 8000: self.port}.items():
                text = re.sub(rf"127\.0\.0\.1:{standing}\b", f"127.0.0.1:{real}", text)
            (Path(self.folder.name) / file.name).write_text(text, encoding="utf-8")
        self.process = subprocess.Popen(command(self.folder.name), cwd=self.folder.name)

    def await_start(self):
        """Waits until the proxy accepts connections; fails at once if it ends."""
        wait_until(lambda: self.process.poll() is not None or self.is_up())
        if self.process.poll() is not None:
            raise AssertionError(f"the proxy ended with {self.process.returncode}: {shlex.join(self.process.args)}")
        if not self.is_up():
            raise AssertionError(f"the proxy does not listen: {shlex.join(self.process.args)}")

    def is_up(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(TIMEOUT)
        self.folder.cleanup()


class ProxyTests:
    """What holds with each proxy."""

    example = binary = None

    def command(self, folder):
        raise NotImplementedError

    def setUp(self):
        if shutil.which(self.binary) is None:
            self.skipTest(f"{self.binary} is not installed")
        self.start(rules=RULES)

    def start(self, *flags, **options):
        self.sluice = self.serve(*flags, **options)
        self.upstream = self.enterContext(Upstream())
        files = [path for path in (ROOT / "examples" / self.example).iterdir() if path.suffix != ".md"]
        self.proxy = Proxy(self.command, files, {8080: self.sluice.http, 9000: self.upstream.port})
        self.addCleanup(self.proxy.end)
        self.proxy.await_start()

    def request(self, path, method="GET", body=None, **headers):
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        return http1.request(self.proxy.port, method, path, body, headers)

    def status_of(self, *lines):
        head = "\r\n".join(("GET /general HTTP/1.1", "Host: h", "Connection: close", *lines, "", ""))
        with socket.create_connection(("127.0.0.1", self.proxy.port), timeout=TIMEOUT) as client:
            client.sendall(head.encode())
            return int(client.makefile("rb").readline().split()[1])

    def test_allowed_responses_have_the_remaining_quota_and_denied_ones_the_time_to_retry(self):
        for left in (2, 1, 0):
            status, headers, text = self.request("/general")
            self.assertEqual((status, text), (200, "GET /general 127.0.0.1 "))
            self.assertEqual(headers["x-ratelimit-limit"], "3")
            self.assertEqual(headers["x-ratelimit-remaining"], str(left))
            self.assertNotIn("retry-after", headers)
        denied = self.request("/general")
        self.assertEqual(denied.status, 429)
        self.assertEqual(denied.headers["x-ratelimit-remaining"], "0")
        self.assertTrue(1 <= int(denied.headers["retry-after"]) <= 3600)
        self.assertEqual(denied.json()["error"]["code"], "RATE_LIMIT_EXCEEDED")
        self.assertEqual(self.upstream.calls, 3)

    def test_calls_that_match_no_rule_have_no_such_headers(self):
        status, headers, _ = self.request("/elsewhere")
        self.assertEqual(status, 200)
        self.assertNotIn("x-ratelimit-limit", headers)

    def test_callers_are_who_they_are_and_not_who_they_say(self):
        forged = {
            "X_Forwarded_For": "192.0.2.7",
            "X_Real_IP": "192.0.2.7",
            "Forwarded": "for=192.0.2.7",
            "X_Forwarded_Uri": "/elsewhere",
            "X_Forwarded_Method": "HEAD",
            "X_Original_URL": "http://x/elsewhere",
        }
        statuses = [self.request("/login?key=1&api_key=2", **forged)[0] for _ in range(3)]
        self.assertEqual(statuses, [200, 200, 429])

    def test_clients_can_not_choose_how_long_sluice_waits_for_its_store(self):
        self.assertEqual(self.request("/general", X_Request_Timeout_Ms="1", X_Other="kept")[0], 200)
        self.assertIn("x-other", self.upstream.headers)
        self.assertNotIn("x-request-timeout-ms", self.upstream.headers)

    def test_an_endpoint_is_the_same_however_it_is_written(self):
        statuses = [self.request(path)[0] for path in ("/login", "/%6Cogin?x=1", "//login", "/a/../login")]
        self.assertEqual(statuses, [200, 200, 429, 429])

    def test_keys_have_budgets_of_their_own_and_bodies_arrive(self):
        status, _, text = self.request("/items/17?x=1", "POST", "hello", X_API_Key="a")
        self.assertEqual((status, text), (200, "POST /items/17?x=1 127.0.0.1 hello"))
        self.assertEqual(self.request("/items/18", "POST", "hello", X_API_Key="a")[0], 429)
        self.assertEqual(self.request("/items/18", "POST", "hello", X_API_Key="b")[0], 200)
        self.assertEqual(self.request("/items/18", X_API_Key="a")[0], 200)

    def test_made_up_keys_are_counted_by_address(self):
        """With the rules that a server has which was given none."""
        self.start()
        self.assertTrue(any(self.request("/", X_API_Key=f"key-{i}").status == 429 for i in range(300)))
        self.assertEqual(self.request("/", X_API_Key="demo-key")[0], 200)

    def test_keys_on_the_deny_list_get_403(self):
        self.assertEqual(self.request("/general", X_API_Key="blocked-key")[0], 403)

    def test_credentials_that_contradict_each_other_are_refused(self):
        self.assertEqual(self.status_of("X-API-Key: a", "X-API-Key: b"), 400)
        self.assertEqual(self.upstream.calls, 0)

    def test_what_sluice_cannot_read_does_not_pass(self):
        for line in ("X-API-Key: a\x01b", "Accept: a\x01b", "X-API-Key: " + "a" * 9000):
            self.assertNotEqual(self.status_of(line), 200, line[:20])
        self.assertEqual(self.upstream.calls, 0)

    def test_calls_pass_while_sluice_is_gone_or_silent(self):
        self.sluice.process.send_signal(signal.SIGSTOP)
        self.assertEqual(self.request("/general")[0], 200)
        self.sluice.kill()
        # At once: the HTTP client of HAProxy's Lua tries again for seconds.
        responses = run_in_parallel(self.request, *[("/general",)] * 5)
        self.assertEqual([response.status for response in responses], [200] * 5)


class NginxTest(ProxyTests, ServerTest):
    example = binary = "nginx"

    def command(self, folder):
        settings = f"daemon off; pid {folder}/pid; error_log {folder}/errors;"
        return ["nginx", "-p", folder, "-c", f"{folder}/nginx.conf", "-e", f"{folder}/errors", "-g", settings]


class HaproxyTest(ProxyTests, ServerTest):
    example = binary = "haproxy"

    def command(self, folder):
        return ["haproxy", "-q", "-f", f"{folder}/haproxy.cfg"]

    def test_denials_are_as_their_rule_says(self):
        for _ in range(2):
            self.request("/login")
        status, headers, text = self.request("/login")
        self.assertEqual(status, 429)
        self.assertEqual(headers["x-reason"], "login")
        self.assertEqual(text, f"slow down: {headers['retry-after']}")


if __name__ == "__main__":
    os.environ["PATH"] += ":/usr/sbin"  # Where proxies are.
    unittest.main()
