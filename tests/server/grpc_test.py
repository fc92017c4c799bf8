"""Talks HTTP/2 with the gRPC listener of the binary named by SLUICE: by frames written by hand, in plain text and TLS."""

import signal
import ssl
import unittest

from support.certificates import Authority, tls_flags
from support.http2 import ACK, DATA, END_STREAM, GOAWAY, HEADERS, PING, Http2Client, frame, grpc_call
from support.sluice import ServerTest

SERVING, NOT_SERVING = b"\0\0\0\0\2\x08\x01", b"\0\0\0\0\2\x08\x02"


class Grpc(ServerTest):
    def start(self, *flags):
        self.server = self.serve(*flags)

    def client(self):
        connection = self.server.connect(self.server.grpc)
        self.addCleanup(connection.close)
        return Http2Client(connection)

    def test_health_is_reported(self):
        self.start()
        client = self.client()
        client.send(grpc_call(1, "/grpc.health.v1.Health/Check", b""))
        self.assertEqual(client.read_until(DATA)[3], SERVING)
        client.read_until(HEADERS, END_STREAM)
        self.assertEqual(self.server.metric("rate_limiter_connections", protocol="grpc"), 1)

    def test_a_shutdown_is_announced_in_two_steps_and_loses_no_call(self):
        self.start()
        client = self.client()
        client.send(grpc_call(1, "/grpc.health.v1.Health/Watch", b""))
        self.assertEqual(client.read_until(DATA)[3], SERVING)
        self.server.process.send_signal(signal.SIGTERM)
        first = client.read_until(GOAWAY)
        self.assertEqual(first[3], b"\x7f\xff\xff\xff" + bytes(4))
        ping = client.read_until(PING)
        # The server cannot know whether the client has read it yet.
        client.send(grpc_call(3, "/grpc.health.v1.Health/Check", b""), frame(PING, ACK, 0, ping[3]))
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
        self.assertEqual(self.server.wait(), 0)

    def test_a_watch_is_notified_when_the_server_begins_to_drain(self):
        self.start()
        client = self.client()
        client.send(grpc_call(1, "/grpc.health.v1.Health/Watch", b""))
        self.assertEqual(client.read_until(DATA)[3], SERVING)
        self.server.process.send_signal(signal.SIGTERM)
        self.assertEqual(client.read_until(DATA)[3], NOT_SERVING)
        self.assertEqual(self.server.wait(), 0)

    def test_an_old_connection_is_asked_to_leave(self):
        self.start("--grpc-max-connection-age", "200ms")
        client = self.client()
        self.assertEqual(client.read_until(GOAWAY)[3], b"\x7f\xff\xff\xff" + bytes(4))
        client.send(frame(PING, ACK, 0, client.read_until(PING)[3]))
        client.read_until(GOAWAY)
        self.assertIsNone(client.read())

    def test_a_flood_ends_the_connection_and_is_counted(self):
        self.start()
        client = self.client()
        client.send(frame(PING, 0, 0, b"12345678") * 2000)
        self.assertEqual(client.read_until(GOAWAY)[3][4:], (11).to_bytes(4, "big"))
        self.assertEqual(self.server.metric("rate_limiter_http2_abuse_total", reason="pings"), 1)
        self.assertEqual(self.server.metric("rate_limiter_protocol_errors_total", protocol="grpc"), 1)

    def test_an_http_1_client_gets_an_explanation(self):
        self.start()
        with self.server.connect(self.server.grpc) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            answer = connection.makefile("rb").read()
        self.assertTrue(answer.startswith(b"HTTP/1.1 400 "))
        self.assertIn(b"This port speaks gRPC", answer)

    def test_tls_agrees_on_h2(self):
        authority = Authority(self.folder)
        self.start(*tls_flags(*authority.issue("server"), "grpc"))
        context = ssl.create_default_context(cafile=str(authority.certificate))
        context.set_alpn_protocols(["h2"])
        plain = self.server.connect(self.server.grpcs)
        with context.wrap_socket(plain, server_hostname="localhost") as connection:
            self.assertEqual(connection.selected_alpn_protocol(), "h2")
            client = Http2Client(connection)
            client.send(grpc_call(1, "/grpc.health.v1.Health/Check", b""))
            self.assertEqual(client.read_until(DATA)[3], SERVING)
        context.set_alpn_protocols(["http/1.1"])
        with self.assertRaises(ssl.SSLError), self.server.connect(self.server.grpcs) as other:
            context.wrap_socket(other, server_hostname="localhost")
        refused = self.server.metric("rate_limiter_tls_handshakes_total", protocol="grpc", result="nothing_shared")
        self.assertEqual(refused, 1)


if __name__ == "__main__":
    unittest.main()
