"""Everything at once: all protocols, rules, certificates and a Redis that change meanwhile, clients that vanish.

Each part has its own test; here they meet, which is what the sanitizers are to see.
"""

import base64
import hashlib
import hmac
import json
import signal
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

from running import PATIENCE, SANITIZED, Redis, Server, rules_in, until, vanish, write

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


class Storm(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.rules = rules_in(self.folder, RULES.format(version=1))
        self.certificate = self.folder / "server.pem"
        self.key = self.folder / "server.key"
        self.issue()
        self.over = threading.Event()

    def issue(self):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
             "-keyout", str(self.key), "-out", str(self.certificate), "-days", "2", "-subj", "/CN=localhost"],
            capture_output=True, timeout=PATIENCE, check=True,
        )  # fmt: skip

    def serve(self, *flags):
        secret = self.folder / "secret"
        secret.write_bytes(SECRET)
        return Server(
            "--rules", str(self.rules), "--http-tls", "127.0.0.1:0", "--http-tls-certificate", str(self.certificate),
            "--http-tls-key", str(self.key), "--identity-sources", "header:X-API-Key,jwt",
            "--identity-jwt-secret-file", str(secret), *flags,
        )  # fmt: skip

    def start(self, *command):
        told = tempfile.TemporaryFile("w+", encoding="utf-8")
        process = subprocess.Popen(command, stdout=told, stderr=told)
        self.addCleanup(told.close)
        self.addCleanup(process.wait, PATIENCE)
        return process, told

    def last_line(self, process, told):
        self.assertEqual(process.wait(PATIENCE), 0)
        told.seek(0)
        return told.read().splitlines()[-1]

    def wrk(self, url):
        script = Path(__file__).with_name("mixed_requests.lua")
        return self.start(
            "wrk", "-t", "1", "-c", "16", "-d", f"{SECONDS}s", "--timeout", f"{PATIENCE}s", "-s", str(script), url,
            "--", token(),
        )  # fmt: skip

    def redis_benchmark(self, server, *command):
        return self.start(
            "redis-benchmark", "-p", str(server.resp), "-c", "8", "-P", "16", "-n", "1000000000", "-r", "100", "-q",
            *command,
        )  # fmt: skip

    def meanwhile(self, step):
        """Does it again and again until the storm is over."""

        def run():
            number = 0
            while not self.over.is_set():
                number += 1
                step(number)

        thread = threading.Thread(target=run)
        thread.start()
        self.addCleanup(thread.join, PATIENCE)
        self.addCleanup(self.over.set)
        return thread

    def change(self, server, number):
        if number % 2:
            write(self.rules, RULES.format(version=number + 1))
        else:
            self.issue()
        server.process.send_signal(signal.SIGHUP)
        server.ask("PUT", "/admin/enforcement", json.dumps({"enforcement": ("on", "shadow")[number % 2]}))

    def appear_and_vanish(self, server, number):
        begun = (b"GET /v1/auth HTT", b"\x16\x03\x01\x02\x00\x01", b"*2\r\n$4\r\nECH", b"PING\r\n" * 100)[number % 4]
        port = (server.http, server.https, server.resp, server.resp)[number % 4]
        client = server.connect(port)
        client.sendall(begun)
        vanish(client)

    def rage(self, server, *also):
        loads = [self.wrk(f"http://127.0.0.1:{server.http}"), self.wrk(f"https://127.0.0.1:{server.https}")]
        checks, _ = self.redis_benchmark(server, "SLUICE.CHECK", "api_key", "key-__rand_int__")
        self.redis_benchmark(server, "CL.THROTTLE", "__rand_int__", "10", "100", "60")  # Gives up without a store.
        steps = [lambda number: self.change(server, number), lambda number: self.appear_and_vanish(server, number)]
        threads = [self.meanwhile(step) for step in (*steps, *also)]
        lost = [self.last_line(*load) for load in loads]
        self.over.set()
        for thread in threads:
            thread.join(PATIENCE)
        self.assertEqual(lost, ["0", "0"])
        self.assertTrue(until(lambda: server.metric('rate_limiter_reloads_total{result="success"}') > 0))
        self.assertIsNone(checks.poll())
        self.assertEqual(server.end(), 0)  # With checks still coming.

    def test_in_memory(self):
        with self.serve() as server:
            self.rage(server)

    def test_on_a_redis_that_comes_and_goes(self):
        with Redis() as redis:
            redis.start()

            def shake(number):
                if number % 5 == 0:
                    redis.process.kill()
                    redis.process.wait(PATIENCE)
                    redis.start()
                redis.pause()
                self.over.wait(0.1)
                redis.resume()
                self.over.wait(0.1)

            with self.serve("--store", redis.url) as server:
                self.rage(server, shake)


if __name__ == "__main__":
    unittest.main()
