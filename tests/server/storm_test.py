"""Everything at once: all protocols, reloads of rules and certificates, a Redis that fails, clients that vanish.

Each part has its own test; here they run together, above all for the sanitizers.
"""

import base64
import hashlib
import hmac
import signal
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

from support.certificates import Authority, tls_flags
from support.environment import SANITIZED, TIMEOUT, wait_until
from support.files import replace_file, write_rules
from support.redis_servers import RedisServer
from support.sluice import ServerTest
from support.sockets import reset

SECONDS = 2 if SANITIZED else 4
SECRET = b"0123456789abcdef0123456789abcdef"

RULES = """
rules:
  - {{ id: api, version: {version}, limit: 100 per second }}
  - {{ id: search, match: {{ endpoint: /search }}, per: [api_key], algorithm: sliding_window_log, limit: 20 per second }}
  - {{ id: jobs, match: {{ endpoint: /jobs }}, per: [api_key], algorithm: concurrency, limit: 3, ttl: 1s }}
"""


def token():
    def part(content):
        return base64.urlsafe_b64encode(content).rstrip(b"=")

    signed = part(b'{"alg":"HS256"}') + b"." + part(b'{"sub":"alice"}')
    return (signed + b"." + part(hmac.digest(SECRET, signed, hashlib.sha256))).decode()


class Storm(ServerTest):
    def setUp(self):
        self.rules = write_rules(self.folder, RULES.format(version=1))
        self.authority = Authority(self.folder)
        self.over = threading.Event()

    def start(self, **options):
        secret = self.folder / "secret"
        secret.write_bytes(SECRET)
        return self.serve(
            "--rules", self.rules, *tls_flags(*self.authority.issue("server"), "http"),
            "--identity-sources", "header:X-API-Key,jwt", "--identity-jwt-secret-file", secret, **options,
        )  # fmt: skip

    def run_in_background(self, *command):
        output = tempfile.TemporaryFile("w+", encoding="utf-8")
        process = subprocess.Popen(command, stdout=output, stderr=output)
        self.addCleanup(output.close)
        self.addCleanup(process.wait, TIMEOUT)
        return process, output

    def last_line(self, process, output):
        self.assertEqual(process.wait(TIMEOUT), 0)
        output.seek(0)
        return output.read().splitlines()[-1]

    def wrk(self, url):
        script = Path(__file__).with_name("mixed_requests.lua")
        return self.run_in_background(
            "wrk", "-t", "1", "-c", "16", "-d", f"{SECONDS}s", "--timeout", f"{TIMEOUT}s", "-s", str(script), url,
            "--", token(),
        )  # fmt: skip

    def redis_benchmark(self, server, *command):
        return self.run_in_background(
            "redis-benchmark", "-p", str(server.resp), "-c", "8", "-P", "16", "-n", "1000000000", "-r", "100", "-q",
            *command,
        )  # fmt: skip

    def meanwhile(self, step):
        """Repeats a step in a thread until the storm is over."""

        def run():
            number = 0
            while not self.over.is_set():
                number += 1
                step(number)

        thread = threading.Thread(target=run)
        thread.start()
        self.addCleanup(thread.join, TIMEOUT)
        self.addCleanup(self.over.set)
        return thread

    def change(self, server, number):
        if number % 2:
            replace_file(self.rules, RULES.format(version=number + 1))
        else:
            self.authority.issue("server")
        server.process.send_signal(signal.SIGHUP)
        server.request("PUT", "/admin/enforcement", {"enforcement": ("on", "shadow")[number % 2]})

    def appear_and_vanish(self, server, number):
        begun = (b"GET /v1/auth HTT", b"\x16\x03\x01\x02\x00\x01", b"*2\r\n$4\r\nECH", b"PING\r\n" * 100)[number % 4]
        port = (server.http, server.https, server.resp, server.resp)[number % 4]
        client = server.connect(port)
        client.sendall(begun)
        reset(client)

    def rage(self, server, *also):
        loads = [self.wrk(f"http://127.0.0.1:{server.http}"), self.wrk(f"https://127.0.0.1:{server.https}")]
        checks, _ = self.redis_benchmark(server, "SLUICE.CHECK", "api_key", "key-__rand_int__")
        self.redis_benchmark(server, "CL.THROTTLE", "__rand_int__", "10", "100", "60")  # Gives up without a store.
        steps = [lambda number: self.change(server, number), lambda number: self.appear_and_vanish(server, number)]
        threads = [self.meanwhile(step) for step in (*steps, *also)]
        lost = [self.last_line(*load) for load in loads]
        self.over.set()
        for thread in threads:
            thread.join(TIMEOUT)
        self.assertEqual(lost, ["0", "0"])
        wait_until(lambda: server.metric("rate_limiter_reloads_total", result="success") > 0)
        self.assertIsNone(checks.poll())
        self.assertEqual(server.stop(), 0)  # With checks still coming.

    def test_in_memory(self):
        with self.start() as server:
            self.rage(server)

    def test_on_a_redis_that_comes_and_goes(self):
        with RedisServer() as redis:

            def shake(number):
                if number % 5 == 0:
                    redis.kill()
                    redis.start()
                redis.pause()
                self.over.wait(0.1)
                redis.resume()
                self.over.wait(0.1)

            with self.start(store=redis.url, store_deadline="50ms") as server:
                self.rage(server, shake)


if __name__ == "__main__":
    unittest.main()
