"""What many clients ask for at once, or hold without asking: signals, the watchdog, health and new clients go on."""

import contextlib
import os
import signal
import socket
import ssl
import statistics
import threading
import time
import unittest
import unittest.mock
from pathlib import Path

from support.certificates import Authority, client_hello, tls_flags
from support.environment import SANITIZED, TIMEOUT, scaled, wait_until
from support.files import write_rules
from support.slowness import Slowness
from support.sluice import Server, ServerTest
from support.sockets import receive_all, receive_until

METRICS = b"GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n"
# Seconds on an idle machine.
USUAL_WAIT = 1 if SANITIZED else 0.1  # Of most requests.
LONGEST_SILENCE = 10 if SANITIZED else 2  # A server that makes every page is silent for much longer.


def many_rules(count):
    rules = (f"  - {{ id: rule{i}, match: {{ api_key: key{i} }}, limit: 5/m }}\n" for i in range(count))
    return "rules:\n" + "".join(rules)


class Systemd:
    """The notification socket of systemd: records the messages of the server's watchdog."""

    def __init__(self, folder):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(Path(folder) / "notify"))
        self.socket.settimeout(0.1)
        self.environment = {"NOTIFY_SOCKET": str(Path(folder) / "notify"), "WATCHDOG_USEC": "200000"}
        self.messages = []  # When, and what.
        self.over = False
        self.thread = threading.Thread(target=self.listen)
        self.thread.start()

    def listen(self):
        while not self.over:
            with contextlib.suppress(TimeoutError):
                self.messages.append((time.monotonic(), self.socket.recv(4096).decode()))

    def longest_silence(self, since):
        beats = [when for when, text in list(self.messages) if text == "WATCHDOG=1" and when > since]
        moments = [since, *beats, time.monotonic()]
        return max(later - before for before, later in zip(moments, moments[1:]))

    def received(self, text):
        return any(message.startswith(text) for _, message in list(self.messages))

    def close(self):
        self.over = True
        self.thread.join(TIMEOUT)
        self.socket.close()


class SlowWork(ServerTest):
    def setUp(self):
        self.systemd = Systemd(self.folder)
        self.addCleanup(self.systemd.close)
        self.enterContext(unittest.mock.patch.dict(os.environ, self.systemd.environment))

    def pour(self, stack, server, request, clients, rounds):
        """Clients that pipeline without end and read all answers; returns how many bytes they have got so far."""
        got = [0] * clients

        def read(client, index):
            with contextlib.suppress(OSError):
                while part := client.recv(1 << 20):
                    got[index] += len(part)

        def send(client):
            with contextlib.suppress(OSError):
                client.sendall(request * rounds)

        for index in range(clients):
            client = stack.enter_context(server.connect(server.http))
            for target, arguments in ((read, (client, index)), (send, (client,))):
                thread = threading.Thread(target=target, args=arguments, daemon=True)
                thread.start()
        return got

    def test_pipelined_metrics_delay_neither_the_watchdog_nor_health_nor_new_clients(self):
        server = self.serve(rules=many_rules(500))
        with contextlib.ExitStack() as stack:
            for _ in range(scaled(500)):  # Each is looked at for a page.
                stack.enter_context(server.connect(server.resp))
            got = self.pour(stack, server, METRICS, clients=8, rounds=20000)
            wait_until(lambda: all(got), got)
            began = time.monotonic()
            waits = []
            with Slowness() as slowness:
                while time.monotonic() < began + 3:
                    asked = time.monotonic()
                    self.assertEqual(server.request("GET", "/livez")[0], 200)  # A new connection each time.
                    waits.append(time.monotonic() - asked)
                silence = self.systemd.longest_silence(since=began)
            self.assertLess(statistics.median(waits), USUAL_WAIT * slowness.median)
            self.assertLess(max(waits), LONGEST_SILENCE * slowness.worst)
            self.assertLess(silence, LONGEST_SILENCE * slowness.worst)
            before = sum(got)
            wait_until(lambda: sum(got) > before, "the flood is served, too")

    def test_a_long_load_of_rules_delays_neither_the_watchdog_nor_health(self):
        server = self.serve(rules="rules: [{ id: one, limit: 5/m }]\n")
        write_rules(self.folder, many_rules(scaled(20_000)))
        began = time.monotonic()
        reload = threading.Thread(target=server.request, args=("POST", "/admin/rules/reload", ""))
        reload.start()
        server.process.send_signal(signal.SIGHUP)
        slowest = 0
        with Slowness() as slowness:
            while reload.is_alive():
                asked = time.monotonic()
                self.assertEqual(server.request("GET", "/livez").status, 200)
                slowest = max(slowest, time.monotonic() - asked)
            silence = self.systemd.longest_silence(since=began)
            took = time.monotonic() - began
        longest = max(LONGEST_SILENCE * slowness.worst, took) / 2
        self.assertLess(slowest, longest)
        self.assertLess(silence, longest)
        self.assertIn("version 2", server.request("GET", "/readyz?verbose").text)
        wait_until(lambda: self.systemd.received("RELOADING=1"))


def refused(server, protocol, reason):
    return server.metric("rate_limiter_connections_refused_total", protocol=protocol, reason=reason)


class Silence(unittest.TestCase):
    """Sockets that say nothing. Loopback is a trusted proxy unless a test says otherwise."""

    def hold(self, stack, server, count, port=None, address="127.0.0.1"):
        clients = []
        for _ in range(count):
            with contextlib.suppress(OSError):
                client = socket.create_connection(("127.0.0.1", port or server.resp), TIMEOUT, (address, 0))
                clients.append(stack.enter_context(client))
        return clients

    def is_full(self, server):
        return "[-] connections" in server.request("GET", "/readyz?verbose")[2]

    def test_health_metrics_and_administration_are_answered_however_many_there_are(self):
        with Server("--limits-connections", "20") as server, contextlib.ExitStack() as stack:
            self.hold(stack, server, 20)
            wait_until(lambda: self.is_full(server))
            self.assertEqual(server.check("alice")[0], 503)
            self.hold(stack, server, scaled(500), port=server.http)
            for path in ("/livez", "/readyz", "/healthcheck", "/metrics", "/actuator/health", "/admin/rules"):
                status, headers, _ = server.request("GET", path)
                self.assertEqual(status, 200, path)
                self.assertEqual(headers.get("Connection"), "close", path)
            status, headers, _ = server.check("alice")
            self.assertEqual((status, headers["Retry-After"]), (503, "1"))
            self.assertGreater(server.metric("rate_limiter_connections_reserved_total", protocol="http"), 0)
            self.assertGreater(refused(server, "http", "max_connections"), 0)

    def test_without_a_reserve_a_full_server_refuses_everyone(self):
        flags = ("--limits-connections", "20", "--limits-reserved-connections", "0")
        with Server(*flags) as server, contextlib.ExitStack() as stack:
            self.hold(stack, server, 20)

            def answer():
                with server.connect(server.http) as client:
                    return receive_all(client)

            wait_until(lambda: answer().startswith(b"HTTP/1.1 503 "))

    def test_they_make_room_once_half_of_the_connections_are_used(self):
        flags = ("--limits-connections", "20", "--limits-request-timeout", "1s")
        with Server(*flags) as server, contextlib.ExitStack() as stack:
            pool = self.hold(stack, server, 5)
            for client in pool:
                client.sendall(b"PING\r\n")
                self.assertEqual(receive_until(client, b"PONG\r\n"), b"+PONG\r\n")
            self.hold(stack, server, 15)
            wait_until(lambda: server.check("alice")[0] == 200)
            for client in pool:  # Idle, and within their rights.
                client.sendall(b"PING\r\n")
                self.assertEqual(receive_until(client, b"PONG\r\n"), b"+PONG\r\n")
            wait_until(lambda: server.metric("rate_limiter_bounds_exceeded_total", protocol="resp", bound="silent") >= 10)

    def test_one_address_gets_half_of_the_connections(self):
        flags = ("--limits-connections", "20", "--identity-trusted-proxies", "none")
        with Server(*flags) as server, contextlib.ExitStack() as stack:
            greedy = self.hold(stack, server, 30, address="127.0.0.2")
            wait_until(lambda: refused(server, "resp", "max_per_address") == 20)
            self.assertEqual(len(greedy), 30)
            self.assertEqual(server.check("alice")[0], 200, "others have room")

    def test_trusted_proxies_may_have_more(self):
        with Server("--limits-connections", "20") as server, contextlib.ExitStack() as stack:
            self.hold(stack, server, 15)
            self.assertEqual(server.check("alice")[0], 200)
            self.assertEqual(server.metric("rate_limiter_connections", protocol="resp"), 15)


class Handshakes(ServerTest):
    def test_those_that_one_address_never_ends_do_not_delay_others(self):
        authority = Authority(self.folder)
        flags = ("--identity-trusted-proxies", "none", "--limits-tls-handshakes-per-address", "20")
        server = self.serve(*tls_flags(*authority.issue("server"), "http"), *flags)
        hello = client_hello()
        for _ in range(scaled(500)):
            flood = socket.create_connection(("127.0.0.1", server.https), TIMEOUT, ("127.0.0.2", 0))
            self.enterContext(flood).sendall(hello)
        wait_until(lambda: server.metric("rate_limiter_tls_handshakes_delayed_total", protocol="http") > 0)
        context = ssl.create_default_context(cafile=authority.certificate)
        for _ in range(10):
            with context.wrap_socket(server.connect(server.https), server_hostname="localhost") as good:
                good.sendall(b"GET /livez HTTP/1.1\r\nHost: h\r\n\r\n")
                self.assertIn(b"200 OK", good.recv(65536))
        results = [server.metric("rate_limiter_tls_handshakes_total", result=result) for result in ("done", "resumed")]
        self.assertEqual(sum(results), 10, "and none of the flood's")


if __name__ == "__main__":
    unittest.main()
