"""Talks HTTP/2 with the gRPC listener of the binary named by SLUICE: by frames written by hand, in plain text and TLS."""

import signal
import ssl
import subprocess
import tempfile
import unittest
from pathlib import Path

from running import PATIENCE, Server

DATA, HEADERS, SETTINGS, PING, GOAWAY = 0, 1, 4, 6, 7
END_STREAM, ACK, END_HEADERS = 1, 1, 4
GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + bytes([SETTINGS]) + bytes(5)
SERVING, NOT_SERVING = b"\0\0\0\0\2\x08\x01", b"\0\0\0\0\2\x08\x02"


def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def call(stream, path, message=b""):
    headers = {":method": "POST", ":scheme": "http", ":path": path, ":authority": "x", "content-type": "application/grpc"}
    block = b"".join(
        b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
        for name, value in headers.items()
    )
    body = b"\0" + len(message).to_bytes(4, "big") + message
    return frame(HEADERS, END_HEADERS, stream, block) + frame(DATA, END_STREAM, stream, body)


class Client:
    """Reads frames; answers pings only when it is told to."""

    def __init__(self, connection):
        self.socket = connection
        self.file = connection.makefile("rb")
        self.send(GREETING)

    def send(self, *frames):
        self.socket.sendall(b"".join(frames))

    def read(self):
        """None: the connection ended."""
        head = self.file.read(9)
        if len(head) < 9:
            return None
        payload = self.file.read(int.from_bytes(head[:3], "big"))
        return head[3], head[4], int.from_bytes(head[5:9], "big"), payload

    def until(self, kind, flags=0):
        while (found := self.read()) is not None:
            if found[0] == kind and found[1] & flags == flags:
                return found
        raise AssertionError(f"the connection ended before a frame of kind {kind}")


class Grpc(unittest.TestCase):
    def start(self, *flags):
        self.server = self.enterContext(Server(*flags))
        return self.server

    def client(self):
        connection = self.server.connect(self.server.grpc)
        self.addCleanup(connection.close)
        return Client(connection)

    def test_health_is_told(self):
        self.start()
        client = self.client()
        client.send(call(1, "/grpc.health.v1.Health/Check"))
        self.assertEqual(client.until(DATA)[3], SERVING)
        client.until(HEADERS, END_STREAM)
        self.assertEqual(self.server.metric('rate_limiter_connections{protocol="grpc"}'), 1)

    def test_the_end_is_told_in_two_steps_and_loses_no_call(self):
        self.start()
        client = self.client()
        client.send(call(1, "/grpc.health.v1.Health/Watch"))
        self.assertEqual(client.until(DATA)[3], SERVING)
        self.server.process.send_signal(signal.SIGTERM)
        first = client.until(GOAWAY)
        self.assertEqual(first[3], b"\x7f\xff\xff\xff" + bytes(4))
        ping = client.until(PING)
        # It had not heard of it yet, for all that the server knows.
        client.send(call(3, "/grpc.health.v1.Health/Check"), frame(PING, ACK, 0, ping[3]))
        seen, last, ended = {}, None, set()
        while (found := client.read()) is not None:
            kind, flags, stream, payload = found
            if kind == DATA:
                seen.setdefault(stream, []).append(payload)
            elif kind == GOAWAY:
                last = payload
            if kind == HEADERS and flags & END_STREAM:
                ended.add(stream)
        self.assertEqual(seen[3], [NOT_SERVING])
        self.assertEqual(last, b"\0\0\0\3" + bytes(4))
        self.assertEqual(ended, {1, 3})
        self.assertEqual(self.server.process.wait(PATIENCE), 0)

    def test_a_watch_is_told_when_the_server_begins_to_end(self):
        self.start()
        client = self.client()
        client.send(call(1, "/grpc.health.v1.Health/Watch"))
        self.assertEqual(client.until(DATA)[3], SERVING)
        self.server.process.send_signal(signal.SIGTERM)
        self.assertEqual(client.until(DATA)[3], NOT_SERVING)
        self.assertEqual(self.server.process.wait(PATIENCE), 0)

    def test_an_old_connection_is_asked_to_leave(self):
        self.start("--grpc-max-connection-age", "200ms")
        client = self.client()
        self.assertEqual(client.until(GOAWAY)[3], b"\x7f\xff\xff\xff" + bytes(4))
        client.send(frame(PING, ACK, 0, client.until(PING)[3]))
        client.until(GOAWAY)
        self.assertIsNone(client.read())

    def test_a_flood_ends_the_connection_and_is_counted(self):
        self.start()
        client = self.client()
        client.send(frame(PING, 0, 0, b"12345678") * 2000)
        self.assertEqual(client.until(GOAWAY)[3][4:], (11).to_bytes(4, "big"))
        self.assertEqual(self.server.metric('rate_limiter_http2_abuse_total{reason="pings"}'), 1)
        self.assertEqual(self.server.metric('rate_limiter_protocol_errors_total{protocol="grpc"}'), 1)

    def test_who_speaks_http_1_is_told_where_it_is(self):
        self.start()
        with self.server.connect(self.server.grpc) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            answer = connection.makefile("rb").read()
        self.assertTrue(answer.startswith(b"HTTP/1.1 400 "))
        self.assertIn(b"This port speaks gRPC", answer)

    def test_tls_agrees_on_h2(self):
        with tempfile.TemporaryDirectory(prefix="sluice-grpc-") as folder:
            certificate, key = Path(folder) / "c.pem", Path(folder) / "k.pem"
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                 "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=localhost",
                 "-addext", "subjectAltName=DNS:localhost"],
                capture_output=True, timeout=PATIENCE, check=True,
            )  # fmt: skip
            self.start("--grpc-tls", "127.0.0.1:0", "--grpc-tls-certificate", str(certificate), "--grpc-tls-key", str(key))
            context = ssl.create_default_context(cafile=str(certificate))
            context.set_alpn_protocols(["h2"])
            plain = self.server.connect(self.server.grpcs)
            with context.wrap_socket(plain, server_hostname="localhost") as connection:
                self.assertEqual(connection.selected_alpn_protocol(), "h2")
                client = Client(connection)
                client.send(call(1, "/grpc.health.v1.Health/Check"))
                self.assertEqual(client.until(DATA)[3], SERVING)
            context.set_alpn_protocols(["http/1.1"])
            with self.assertRaises(ssl.SSLError), self.server.connect(self.server.grpcs) as other:
                context.wrap_socket(other, server_hostname="localhost")
            series = 'rate_limiter_tls_handshakes_total{protocol="grpc",result="nothing_shared"}'
            self.assertEqual(self.server.metric(series), 1)


if __name__ == "__main__":
    unittest.main()
