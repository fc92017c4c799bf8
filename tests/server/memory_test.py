"""What all clients of the server named by SLUICE may hold together: bounded, and given back to the system."""

import contextlib
import re
import socket
import tempfile
import unittest

from support.certificates import Authority, client_hello, tls_flags
from support.environment import SANITIZED, wait_until
from support.http2 import NO_WINDOW, PREFACE, grpc_call, reflection_request
from support.sluice import Server

MEGA = 1 << 20
LARGE_ANSWER = b"GET /openapi.json HTTP/1.1\r\nHost: h\r\n\r\n"
LARGE_REPLY = b"COMMAND DOCS\r\n"
REFLECTION = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"


def reflection_flood():
    """A client that opens no window: a thousand streams, each asks for a file of some kilobytes again and again."""
    requests = [reflection_request("sluice.v1.RateLimiter")] * 50
    return PREFACE + NO_WINDOW + b"".join(grpc_call(2 * i + 1, REFLECTION, *requests, flags=0) for i in range(1000))


def resident(server):
    return server.metric("process_resident_memory_bytes")


def connection_memory(server):
    """Used, and the bound, as /readyz?verbose says."""
    found = re.search(r"connection_memory \w+: (\d+) of (\d+) bytes", server.request("GET", "/readyz?verbose")[2])
    return int(found[1]), int(found[2])


class Deaf:
    """Sends without end, as fast as it is read, and reads nothing."""

    def __init__(self, server, port, request):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.connect(("127.0.0.1", port))
        self.socket.setblocking(False)
        self.request = request

    def send(self):
        with contextlib.suppress(BlockingIOError, ConnectionError):
            while self.request:
                self.request = self.request[self.socket.send(self.request) :]


class Memory(unittest.TestCase):
    def deaf(self, server, port, request, count):
        clients = [Deaf(server, port, request) for _ in range(count)]
        for client in clients:
            self.addCleanup(client.socket.close)
        return clients

    def test_a_client_without_a_window_holds_little_however_much_it_asks_for(self):
        with Server() as server:
            before = resident(server)
            (client,) = self.deaf(server, server.grpc, reflection_flood(), 1)
            wait_until(lambda: client.send() or not client.request)
            self.assertEqual(server.check("alice")[0], 200)
            self.assertLess(connection_memory(server)[0], 8 * MEGA)
            if not SANITIZED:
                self.assertLess(resident(server) - before, 32 * MEGA)

    def test_all_protocols_share_one_bound_and_memory_is_given_back(self):
        bound = 48 * MEGA
        with Server("--limits-memory", str(bound)) as server:
            self.assertEqual(connection_memory(server)[1], bound)
            before = resident(server)
            clients = [
                *self.deaf(server, server.http, LARGE_ANSWER * 400, 40),
                *self.deaf(server, server.resp, LARGE_REPLY * 2000, 40),
                *self.deaf(server, server.grpc, reflection_flood(), 40),
            ]

            def closed():
                for client in clients:
                    client.send()
                return server.metric("rate_limiter_bounds_exceeded_total", bound="memory")

            wait_until(lambda: closed() > 0)
            self.assertLessEqual(connection_memory(server)[0], bound + 16 * MEGA)
            self.assertEqual(server.check("alice")[0], 200)
            grown = resident(server) - before
            if not SANITIZED:
                self.assertLess(grown, 3 * bound)  # The allocator needs some for itself.
            for client in clients:
                client.socket.close()
            wait_until(lambda: connection_memory(server)[0] < MEGA)
            if not SANITIZED:
                self.assertGreater(grown, bound / 2)
                wait_until(lambda: resident(server) - before < grown / 2, resident(server) - before)

    @unittest.skipIf(SANITIZED, "the allocator of a sanitizer keeps memory")
    def test_the_memory_of_many_connections_is_given_back(self):
        with tempfile.TemporaryDirectory() as folder:
            flags = tls_flags(*Authority(folder).issue("server"), "http")
            with Server(*flags) as server, contextlib.ExitStack() as clients:
                before = resident(server)
                hello = client_hello()
                for _ in range(800):
                    clients.enter_context(server.connect(server.https)).sendall(hello)
                wait_until(lambda: server.metric("rate_limiter_connections", protocol="http") >= 800)
                wait_until(lambda: resident(server) - before > 16 * MEGA)
                grown = resident(server) - before
                clients.close()
                wait_until(lambda: resident(server) - before < grown / 2, lambda: resident(server) - before)

    def test_without_a_setting_the_bound_is_a_share_of_the_machine(self):
        with Server() as server:
            self.assertGreater(connection_memory(server)[1], 16 * MEGA)


if __name__ == "__main__":
    unittest.main()
