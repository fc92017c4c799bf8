"""Talks TLS with the server of the binary named by SLUICE, as curl, openssl, redis-cli and impolite clients do."""

import http.client
import json
import re
import signal
import socket
import ssl
import subprocess
import tempfile
import unittest
from pathlib import Path

from support.certificates import Authority, tls_flags
from support.environment import TIMEOUT, wait_until
from support.files import write_rules
from support.http1 import read_response
from support.sluice import ServerTest, run_sluice
from support.sockets import receive_all

PER_ADDRESS = "rules: [{ id: api, per: ip, algorithm: fixed_window, limit: 1, window: 1d }]\n"

PER_SUBJECT = """
rules:
  - { id: known, match: { tls_cn: alice }, per: tls_subject, algorithm: fixed_window, limit: 2, window: 1d }
  - { id: others, match: { tls_subject: { absent: true } }, algorithm: fixed_window, limit: 50, window: 1d }
"""


def handshakes(server, result, protocol="http"):
    return server.metric("rate_limiter_tls_handshakes_total", protocol=protocol, result=result)


def reloads(server, result):
    return server.metric("rate_limiter_tls_reloads_total", protocol="http", result=result)


class TlsTest(ServerTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="sluice-tls-")))
        cls.authority = Authority(cls.folder)
        cls.certificate, cls.key = cls.authority.issue("server")

    def start(self, *flags):
        self.server = self.serve(*tls_flags(self.certificate, self.key, "http", "resp"), *flags)
        return self.server

    def curl(self, *arguments, path="/api/ping", check=True):
        completed = subprocess.run(
            ["curl", "-sS", "-i", "--cacert", self.authority.certificate, *map(str, arguments),
             f"https://127.0.0.1:{self.server.https}{path}"],  # fmt: skip
            capture_output=True, text=True, timeout=TIMEOUT, check=False,
        )  # fmt: skip
        if check:
            self.assertEqual(completed.returncode, 0, completed.stderr)
        return completed

    def s_client(self, *arguments, say=""):
        return subprocess.run(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{self.server.https}", "-CAfile",
             str(self.authority.certificate), *map(str, arguments)],
            input=say, capture_output=True, text=True, timeout=TIMEOUT, check=False,
        )  # fmt: skip

    def client(self, first=b"", **identity):
        context = ssl.create_default_context(cafile=str(self.authority.certificate))
        if identity:
            context.load_cert_chain(**identity)
        raw = socket.create_connection(("127.0.0.1", self.server.https), timeout=TIMEOUT)
        raw.sendall(first)
        return context.wrap_socket(raw, server_hostname="localhost")


class Talk(TlsTest):
    def test_curl_asks_with_https(self):
        self.start()
        output = self.curl("-H", "X-API-Key: demo-key", "-w", "\n%{http_version} %{ssl_verify_result}").stdout
        head, _, rest = output.partition("\n\n")
        self.assertTrue(head.startswith("HTTP/1.1 200 OK\n"), output)
        body, versions = rest.splitlines()
        self.assertEqual((json.loads(body), versions), ({"message": "pong"}, "1.1 0"))

    def test_a_connection_is_kept_for_the_next_request(self):
        server = self.start()
        url = f"https://127.0.0.1:{server.https}/api/ping"
        output = self.curl("-w", "connects=%{num_connects}", url, url).stdout
        self.assertEqual(re.findall(r"connects=(\d)", output), ["1", "0", "0"])
        self.assertEqual(handshakes(server, "done"), 1)

    def test_a_big_pipeline_is_answered_in_order(self):
        self.start()
        with self.client() as client:
            answers = client.makefile("rb")
            for i in range(5000):
                if i % 1000 == 0:  # By this thread: two may not use one TLS connection of Python's at a time.
                    client.sendall("".join(
                        f"GET /api/v1/rate-limit/check?key=client-{k}&algorithm=TOKEN_BUCKET HTTP/1.1\r\nHost: localhost\r\n\r\n"
                        for k in range(i, i + 1000)
                    ).encode())  # fmt: skip
                response = read_response(answers)
                self.assertEqual((response.status, response.json()["key"]), (200, f"client-{i}"))

    def test_a_proxy_names_its_client_before_the_handshake(self):
        rules = write_rules(self.folder, PER_ADDRESS)
        self.start("--http-proxy-protocol", "true", "--rules", rules)

        def status(address, path="/api/ping"):
            with self.client(first=f"PROXY TCP4 {address} 192.0.2.9 1234 443\r\n".encode()) as client:
                client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                return int(client.makefile("rb").readline().split()[1])

        self.assertEqual([status("192.0.2.1"), status("192.0.2.1"), status("192.0.2.2")], [200, 429, 200])
        self.assertEqual(status("127.0.0.1", "/admin/rules"), 403)

    def test_redis_cli_asks_with_tls(self):
        server = self.start()
        completed = subprocess.run(
            ["redis-cli", "-p", str(server.rediss), "--tls", "--cacert", self.authority.certificate,
             "SLUICE.CHECK", "api_key", "demo-key"],
            capture_output=True, text=True, timeout=TIMEOUT, check=False,
        )  # fmt: skip
        self.assertEqual(completed.stdout.splitlines()[:3], ["1", "100", "99"], completed.stderr)
        self.assertEqual(handshakes(server, "done", protocol="resp"), 1)

    def test_alpn_chooses_http_1_1(self):
        self.start()
        self.assertIn("ALPN protocol: http/1.1", self.s_client("-alpn", "h2,http/1.1").stdout)
        self.assertIn("no application protocol", self.s_client("-alpn", "h2").stderr)

    def test_a_session_is_resumed(self):
        server = self.start()
        ticket = self.folder / "ticket"
        for version in ("-tls1_2", "-tls1_3"):
            ask = "GET /api/ping HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            first = self.s_client(version, "-ign_eof", "-sess_out", ticket, say=ask)
            self.assertIn("200 OK", first.stdout)
            again = self.s_client(version, "-ign_eof", "-sess_in", ticket, say=ask)
            self.assertIn("Reused", again.stdout)
        self.assertEqual((handshakes(server, "done"), handshakes(server, "resumed")), (2, 2))


class Versions(TlsTest):
    def test_tls_1_1_is_refused(self):
        server = self.start()
        completed = self.s_client("-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0")
        self.assertIn("alert protocol version", completed.stderr)
        self.assertEqual(handshakes(server, "nothing_shared"), 1)

    def test_tls_1_2_is_spoken_unless_the_minimum_is_1_3(self):
        self.start()
        self.assertIn("200 OK", self.curl("--tls-max", "1.2").stdout)
        self.start("--http-tls-minimum-version", "1.3")
        self.assertNotEqual(self.curl("--tls-max", "1.2", check=False).returncode, 0)
        self.assertIn("200 OK", self.curl().stdout)


class Impolite(TlsTest):
    def raw(self, port=None):
        return self.enterContext(socket.create_connection(("127.0.0.1", port or self.server.https), timeout=TIMEOUT))

    def test_plain_text_is_answered_and_counted(self):
        server = self.start()
        client = self.raw()
        client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertIn(b"400 Bad Request", receive_all(client))
        client = self.raw(server.rediss)
        client.sendall(b"PING\r\n")
        self.assertEqual(receive_all(client), b"-ERR this port speaks TLS\r\n")
        self.assertEqual((handshakes(server, "not_tls"), handshakes(server, "not_tls", protocol="resp")), (1, 1))

    def test_garbage_is_closed(self):
        server = self.start()
        client = self.raw()
        client.sendall(b"\x16\x03\x01\x00\x10" + bytes(range(16)))
        receive_all(client)
        self.assertEqual(handshakes(server, "broken"), 1)

    def test_a_handshake_that_does_not_end_is_closed(self):
        server = self.start("--limits-request-timeout", "200ms")
        client = self.raw()
        client.sendall(b"\x16\x03\x01\x02\x00\x01")
        self.assertEqual(receive_all(client), b"")
        self.assertEqual(handshakes(server, "timeout"), 1)
        self.assertEqual(server.metric("rate_limiter_bounds_exceeded_total", protocol="http", bound="slow_request"), 1)


class ClientCertificates(TlsTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.alice = cls.authority.issue("alice", "/O=Acme/CN=alice")
        cls.mallory = Authority(cls.folder, "other").issue("mallory", "/O=Acme/CN=alice")
        write_rules(cls.folder, PER_SUBJECT)

    def flags(self, how):
        return [
            "--http-tls-client-certificates", how, "--http-tls-client-ca", str(self.authority.certificate),
            "--rules", str(self.folder / "rules.yaml"),
        ]  # fmt: skip

    @staticmethod
    def shows(identity):
        return ["--cert", identity[0], "--key", identity[1]]

    def test_where_one_is_required_only_a_good_one_comes_in(self):
        server = self.start(*self.flags("required"))
        self.assertNotEqual(self.curl(check=False).returncode, 0)
        self.assertNotEqual(self.curl(*self.shows(self.mallory), check=False).returncode, 0)
        self.assertIn("200 OK", self.curl(*self.shows(self.alice)).stdout)
        self.assertEqual(
            [handshakes(server, result) for result in ("no_certificate", "bad_certificate", "done")], [1, 1, 1]
        )

    def test_rules_see_the_subject_and_clients_cannot_claim_one(self):
        self.start(*self.flags("optional"))
        path = "/api/v1/rate-limit/check?endpoint=/x"
        remaining = []
        for _ in range(2):
            output = self.curl(*self.shows(self.alice), path=path).stdout
            remaining.append(re.search(r"X-RateLimit-Remaining: (\d+)", output)[1])
        self.assertEqual(remaining, ["1", "0"])
        self.assertIn("429", self.curl(*self.shows(self.alice), path=path).stdout)
        claimed = self.curl(path=path + "&tls_cn=alice&tls_subject=CN%3Dalice")
        self.assertIn("X-RateLimit-Limit: 50", claimed.stdout)
        body = json.dumps({"attributes": {"tls_cn": "alice", "tls_subject": "CN=alice"}})
        claimed = self.curl("-H", "Content-Type: application/json", "-d", body, path="/api/v1/rate-limit/check")
        self.assertIn("X-RateLimit-Limit: 50", claimed.stdout)


class Reload(TlsTest):
    def setUp(self):
        self.certificate, self.key = self.authority.issue("reloaded", "/CN=before")

    def subject(self):
        with self.client() as client:
            return dict(pair[0] for pair in client.getpeercert()["subject"])["commonName"]

    def ping(self, connection):
        connection.request("GET", "/api/ping")
        answer = connection.getresponse()
        answer.read()
        return answer.status

    def test_sighup_swaps_the_certificate_and_keeps_connections(self):
        server = self.start()
        connection = http.client.HTTPConnection("localhost")
        connection.sock = self.client()
        self.addCleanup(connection.close)
        self.assertEqual((self.ping(connection), self.subject()), (200, "before"))
        self.authority.issue("reloaded", "/CN=after")
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: self.subject() == "after")
        self.assertEqual(self.ping(connection), 200)
        self.assertGreaterEqual(reloads(server, "success"), 1)
        self.assertEqual(reloads(server, "failure"), 0)

    def test_changed_files_are_noticed(self):
        self.start()
        self.authority.issue("reloaded", "/CN=after")
        wait_until(lambda: self.subject() == "after")

    def test_a_bad_file_changes_nothing_and_is_logged(self):
        server = self.start()
        self.assertEqual(self.subject(), "before")  # Before it answers, signals are not handled.
        self.certificate.write_text("nonsense", encoding="utf-8")
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: server.log_lines("http_tls reload failed, keeping previous certificate: "))
        self.assertTrue(server.log_lines("http_tls.certificate: "))
        self.assertEqual(self.subject(), "before")
        self.assertGreaterEqual(reloads(server, "failure"), 1)


class Start(TlsTest):
    def refused(self, *flags):
        listeners = ("--http", "none", "--resp", "none", "--grpc", "none", "--http-tls", "127.0.0.1:0")
        completed = run_sluice("serve", *listeners, *flags)
        self.assertNotEqual(completed.returncode, 0)
        return completed.stderr

    def test_wrong_settings_are_reported(self):
        self.assertIn("http_tls: listen and certificate go together", self.refused())
        self.assertIn(
            "http_tls.certificate: /nowhere.pem can't be read: No such file or directory",
            self.refused("--http-tls-certificate", "/nowhere.pem"),
        )
        _, other = self.authority.issue("another")
        self.assertIn(
            f"http_tls.key: {other} does not belong to the certificate {self.certificate}",
            self.refused("--http-tls-certificate", self.certificate, "--http-tls-key", other),
        )


if __name__ == "__main__":
    unittest.main()
