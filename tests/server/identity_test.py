"""The identity of callers: proxies, credentials, tokens, the PROXY protocol."""

import base64
import hashlib
import hmac
import json
import signal
import struct
import time
import unittest

from support.environment import wait_until
from support.redis_servers import RedisServer
from support.sluice import Server, ServerTest
from support.sockets import receive_until

CHALLENGE = 'Bearer error="invalid_token"'
PER_ADDRESS = "rules: [{ id: api, per: ip, algorithm: fixed_window, limit: 1, window: 1d }]\n"
PER_KEY = "rules: [{ id: api, per: api_key, algorithm: fixed_window, limit: 1, window: 1d }]\n"


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def token(secret, **claims):
    head = encoded(b'{"alg":"HS256","typ":"JWT"}') + "." + encoded(json.dumps(claims).encode())
    return head + "." + encoded(hmac.new(secret, head.encode(), hashlib.sha256).digest())


class Addresses(ServerTest):
    def ping(self, server, **headers):
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return server.request("GET", "/api/ping", headers=sent)[0]

    def test_a_local_proxy_speaks_for_its_clients(self):
        server = self.serve(rules=PER_ADDRESS)
        self.assertEqual(self.ping(server, X_Forwarded_For="192.0.2.1"), 200)
        self.assertEqual(self.ping(server, X_Forwarded_For="9.9.9.9, 192.0.2.1"), 429)
        self.assertEqual(self.ping(server, X_Forwarded_For="2001:db8::1"), 200)
        self.assertEqual(self.ping(server, X_Forwarded_For="2001:db8::2"), 429)

    def test_clients_that_are_not_trusted_speak_for_themselves(self):
        server = self.serve("--trusted-proxies", "10.0.0.0/8", rules=PER_ADDRESS)
        self.assertEqual(self.ping(server, X_Forwarded_For="192.0.2.1"), 200)
        self.assertEqual(self.ping(server, X_Forwarded_For="192.0.2.2", X_Real_IP="192.0.2.3"), 429)

    def through_proxy(self, server, header, port=None):
        with server.connect(port or server.http) as client:
            client.sendall(header + b"GET /api/ping HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            return receive_until(client, b"}")[:12]

    def test_the_proxy_protocol_names_the_client_of_a_connection(self):
        server = self.serve("--http-proxy-protocol", "true", "--resp-proxy-protocol", "true", rules=PER_ADDRESS)
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
        server = self.serve("--http-proxy-protocol", "true", rules=PER_ADDRESS)
        with server.connect(server.http) as client:
            client.sendall(b"GET /api/ping HTTP/1.1\r\nHost: h\r\n\r\n")
            self.assertEqual(client.recv(100), b"")

    def test_untrusted_clients_may_not(self):
        server = self.serve("--http-proxy-protocol", "true", "--trusted-proxies", "10.0.0.0/8", rules=PER_ADDRESS)
        self.assertEqual(self.through_proxy(server, b"PROXY TCP4 192.0.2.1 192.0.2.9 1 80\r\n"), b"HTTP/1.1 400")
        self.assertEqual(self.through_proxy(server, b""), b"HTTP/1.1 200")


class Credentials(ServerTest):
    secret = b"a secret that is long enough for it"

    def setUp(self):
        self.secret_file = self.folder / "secret"
        self.secret_file.write_bytes(self.secret)

    def test_the_claims_of_a_token_are_who_calls(self):
        server = self.serve("--identity-sources", "jwt", "--identity-jwt-secret-file", self.secret_file, rules=PER_KEY)

        def ping(bearer):
            status, headers, _ = server.request("GET", "/api/ping", headers={"Authorization": f"Bearer {bearer}"})
            return status, headers.get("WWW-Authenticate")

        soon = int(time.time()) + 3600
        self.assertEqual(ping(token(self.secret, sub="alice", exp=soon))[0], 200)
        self.assertEqual(ping(token(self.secret, sub="alice", exp=soon + 1))[0], 429)
        self.assertEqual(ping(token(self.secret, sub="bob", exp=soon))[0], 200)
        self.assertEqual(ping(token(b"another secret, also long enough", sub="carol")), (401, CHALLENGE))
        self.assertEqual(ping(token(self.secret, sub="carol", exp=1)), (401, CHALLENGE))

    def test_new_keys_of_tokens_are_read_on_sighup(self):
        server = self.serve("--identity-sources", "jwt", "--identity-jwt-secret-file", self.secret_file, rules=PER_KEY)
        other = b"the next secret, which is as long as it"

        def status():
            bearer = token(other, sub="alice")
            return server.request("GET", "/api/ping", headers={"Authorization": f"Bearer {bearer}"})[0]

        self.assertEqual(status(), 401)
        self.secret_file.write_bytes(b"short")
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: server.log_lines("identity reload failed, keeping previous keys: identity: "))
        self.assertEqual(status(), 401)
        self.secret_file.write_bytes(other)
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: status() != 401)

    def test_keys_are_shown_as_hashes_only(self):
        server = self.serve(
            "--identity-hash-keys", "true", "--identity-hash-secret-file", self.secret_file, rules=PER_KEY
        )
        server.request("GET", "/api/ping", headers={"X-API-Key": "sk_1"})
        self.assertEqual(server.check("sk_1")[0], 429)
        shown = server.request("GET", "/admin/inspect?key=sk_1").text
        self.assertIn(hmac.new(self.secret, b"sk_1", hashlib.sha256).hexdigest(), shown)
        self.assertNotIn("sk_1", shown)

    def test_no_store_holds_a_key(self):
        redis = self.enterContext(RedisServer())
        server = self.serve(
            "--identity-hash-keys", "true", "--identity-hash-secret-file", self.secret_file,
            store=redis.url, rules=PER_KEY,
        )  # fmt: skip
        server.request("GET", "/api/ping", headers={"X-API-Key": "sk_1"})
        server.check("sk_2&algorithm=FIXED_WINDOW")
        server.request("POST", "/api/v1/rate-limit/check", {"descriptors": [{"key": "sk_3", "limit": 5}]})
        throttle = ("CL.THROTTLE", "sk_4", "0", "1", "86400")
        self.assertEqual([server.redis_cli(*throttle)[0] for _ in range(2)], ["0", "1"])
        keys = redis.send("KEYS", "*")
        self.assertEqual(sum("hmac" in key for key in keys), 4, keys)
        self.assertFalse([key for key in keys if "sk_" in key])
        self.assertEqual(server.redis_cli("DEL", "sk_0", "sk_4"), ["1"])
        self.assertEqual(server.redis_cli(*throttle)[0], "0")

    def test_wrong_settings_are_reported(self):
        with self.assertRaisesRegex(AssertionError, "identity: hashed keys need a secret"):
            Server("--identity-hash-keys", "true")
        with self.assertRaisesRegex(AssertionError, "identity: jwt: there is no key"):
            Server("--identity-sources", "jwt")
        with self.assertRaisesRegex(AssertionError, "--identity-trusted-proxies"):
            Server("--trusted-proxies", "10.0.0.1/8")


if __name__ == "__main__":
    unittest.main()
