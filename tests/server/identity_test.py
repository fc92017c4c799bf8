"""Who calls, as the server finds out: proxies, credentials, tokens, the PROXY protocol."""

import base64
import hashlib
import hmac
import json
import signal
import struct
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from running import Redis, Server, receive_until, rules_in, until

CHALLENGE = 'Bearer error="invalid_token"'
PER_ADDRESS = "rules: [{ id: api, per: ip, algorithm: fixed_window, limit: 1, window: 1d }]\n"
PER_KEY = "rules: [{ id: api, per: api_key, algorithm: fixed_window, limit: 1, window: 1d }]\n"


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def token(secret, **claims):
    head = encoded(b'{"alg":"HS256","typ":"JWT"}') + "." + encoded(json.dumps(claims).encode())
    return head + "." + encoded(hmac.new(secret, head.encode(), hashlib.sha256).digest())


class OfServer(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def start(self, rules, *flags):
        server = Server("--rules", str(rules_in(self.folder, rules)), *flags)
        self.addCleanup(server.__exit__)
        return server

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return str(path)


class Addresses(OfServer):
    def ping(self, server, **headers):
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return server.ask("GET", "/api/ping", headers=sent)[0]

    def test_a_local_proxy_speaks_for_its_clients(self):
        server = self.start(PER_ADDRESS)
        self.assertEqual(self.ping(server, X_Forwarded_For="192.0.2.1"), 200)
        self.assertEqual(self.ping(server, X_Forwarded_For="9.9.9.9, 192.0.2.1"), 429)
        self.assertEqual(self.ping(server, X_Forwarded_For="2001:db8::1"), 200)
        self.assertEqual(self.ping(server, X_Forwarded_For="2001:db8::2"), 429)

    def test_whoever_is_not_trusted_speaks_for_itself(self):
        server = self.start(PER_ADDRESS, "--trusted-proxies", "10.0.0.0/8")
        self.assertEqual(self.ping(server, X_Forwarded_For="192.0.2.1"), 200)
        self.assertEqual(self.ping(server, X_Forwarded_For="192.0.2.2", X_Real_IP="192.0.2.3"), 429)

    def through_proxy(self, server, header, port=None):
        with server.connect(port or server.http) as client:
            client.sendall(header + b"GET /api/ping HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            return receive_until(client, b"}")[:12]

    def test_the_proxy_protocol_tells_whom_a_connection_is_from(self):
        server = self.start(PER_ADDRESS, "--http-proxy-protocol", "true", "--resp-proxy-protocol", "true")
        text = b"PROXY TCP4 192.0.2.1 192.0.2.9 1234 80\r\n"
        binary = b"\r\n\r\n\0\r\nQUIT\n\x21\x11" + struct.pack(">H4s4sHH", 12, bytes([192, 0, 2, 2]), bytes(4), 1, 80)
        for header in (text, binary):
            self.assertEqual(self.through_proxy(server, header), b"HTTP/1.1 200")
            self.assertEqual(self.through_proxy(server, header), b"HTTP/1.1 429")
        with server.connect(server.resp) as client:
            client.sendall(text + b"DEL key\r\n")
            self.assertTrue(receive_until(client, b"\r\n").startswith(b"-NO"), "it is not local")
        with server.connect(server.resp) as client:
            client.sendall(b"PROXY UNKNOWN\r\nDEL key\r\n")
            self.assertTrue(receive_until(client, b"\r\n").startswith(b"-NO"), "nor is who isn't known")

    def test_a_trusted_proxy_must_begin_with_it(self):
        server = self.start(PER_ADDRESS, "--http-proxy-protocol", "true")
        with server.connect(server.http) as client:
            client.sendall(b"GET /api/ping HTTP/1.1\r\nHost: h\r\n\r\n")
            self.assertEqual(client.recv(100), b"")

    def test_nobody_else_may(self):
        server = self.start(PER_ADDRESS, "--http-proxy-protocol", "true", "--trusted-proxies", "10.0.0.0/8")
        self.assertEqual(self.through_proxy(server, b"PROXY TCP4 192.0.2.1 192.0.2.9 1 80\r\n"), b"HTTP/1.1 400")
        self.assertEqual(self.through_proxy(server, b""), b"HTTP/1.1 200")


class Credentials(OfServer):
    secret = b"a secret that is long enough for it"

    def test_the_claims_of_a_token_are_who_calls(self):
        server = self.start(
            PER_KEY, "--identity-sources", "jwt", "--identity-jwt-secret-file", self.file("secret", self.secret)
        )

        def ping(bearer):
            status, headers, _ = server.ask("GET", "/api/ping", headers={"Authorization": f"Bearer {bearer}"})
            return status, headers.get("WWW-Authenticate")

        soon = int(time.time()) + 3600
        self.assertEqual(ping(token(self.secret, sub="alice", exp=soon))[0], 200)
        self.assertEqual(ping(token(self.secret, sub="alice", exp=soon + 1))[0], 429)
        self.assertEqual(ping(token(self.secret, sub="bob", exp=soon))[0], 200)
        self.assertEqual(ping(token(b"another secret, also long enough", sub="carol")), (401, CHALLENGE))
        self.assertEqual(ping(token(self.secret, sub="carol", exp=1)), (401, CHALLENGE))

    def test_new_keys_of_tokens_are_read_on_sighup(self):
        path = self.file("secret", self.secret)
        server = self.start(PER_KEY, "--identity-sources", "jwt", "--identity-jwt-secret-file", path)
        other = b"the next secret, which is as long as it"

        def status():
            bearer = token(other, sub="alice")
            return server.ask("GET", "/api/ping", headers={"Authorization": f"Bearer {bearer}"})[0]

        self.assertEqual(status(), 401)
        Path(path).write_bytes(b"short")
        server.process.send_signal(signal.SIGHUP)
        self.assertTrue(until(lambda: any("who calls is told as before" in line for line in server.log)))
        self.assertEqual(status(), 401)
        Path(path).write_bytes(other)
        server.process.send_signal(signal.SIGHUP)
        self.assertTrue(until(lambda: status() != 401))

    def test_keys_are_shown_as_hashes_only(self):
        server = self.start(
            PER_KEY, "--identity-hash-keys", "true", "--identity-hash-secret-file", self.file("secret", self.secret)
        )
        server.ask("GET", "/api/ping", headers={"X-API-Key": "sk_1"})
        self.assertEqual(server.check("sk_1")[0], 429)
        shown = server.ask("GET", "/admin/inspect?key=sk_1")[2]
        self.assertIn(hmac.new(self.secret, b"sk_1", hashlib.sha256).hexdigest(), shown)
        self.assertNotIn("sk_1", shown)

    def test_no_store_holds_a_key(self):
        redis = self.enterContext(Redis())
        redis.start()
        server = self.start(
            PER_KEY, "--identity-hash-keys", "true", "--identity-hash-secret-file", self.file("secret", self.secret),
            "--store", redis.url, "--store-deadline", "30s",
        )  # fmt: skip
        server.ask("GET", "/api/ping", headers={"X-API-Key": "sk_1"})
        server.check("sk_2&algorithm=FIXED_WINDOW")
        server.ask("POST", "/api/v1/rate-limit/check", '{"descriptors":[{"key":"sk_3","limit":5}]}')
        throttle = ("CL.THROTTLE", "sk_4", "0", "1", "86400")
        self.assertEqual([server.redis_cli(*throttle)[0] for _ in range(2)], ["0", "1"])
        found = subprocess.run(["redis-cli", "-p", str(redis.port), "KEYS", "*"], capture_output=True, check=True).stdout
        self.assertEqual(found.count(b"hmac"), 4, found)
        self.assertNotIn(b"sk_", found)
        self.assertEqual(server.redis_cli("DEL", "sk_0", "sk_4"), ["1"])
        self.assertEqual(server.redis_cli(*throttle)[0], "0")

    def test_wrong_settings_are_told(self):
        with self.assertRaisesRegex(AssertionError, "identity: hashed keys need a secret"):
            Server("--identity-hash-keys", "true")
        with self.assertRaisesRegex(AssertionError, "identity: jwt: there is no key"):
            Server("--identity-sources", "jwt")
        with self.assertRaisesRegex(AssertionError, "--identity-trusted-proxies"):
            Server("--trusted-proxies", "10.0.0.1/8")


if __name__ == "__main__":
    unittest.main()
