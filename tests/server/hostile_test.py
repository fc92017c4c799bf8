"""Hostile, broken and vanishing clients: those that exceed a bound are closed, and others are served."""

import contextlib
import socket
import threading
import unittest

from support.environment import SANITIZED, TIMEOUT, scaled, wait_until
from support.sluice import Server
from support.sockets import receive_all, receive_until, reset

PING = b"*1\r\n$4\r\nPING\r\n"
PONG = b"+PONG\r\n"
LIVEZ = b"GET /livez HTTP/1.1\r\nHost: h\r\n\r\n"
LARGE_ANSWER = b"GET /openapi.json HTTP/1.1\r\nHost: h\r\n\r\n"


def bound_broken(server, protocol, bound):
    return server.metric("rate_limiter_bounds_exceeded_total", protocol=protocol, bound=bound)


def refused(server, protocol, reason):
    return server.metric("rate_limiter_connections_refused_total", protocol=protocol, reason=reason)


def open_connections(server, protocol):
    return server.metric("rate_limiter_connections", protocol=protocol)


class Garbage(unittest.TestCase):
    def answer(self, server, port, garbage):
        with server.connect(port) as client:
            with contextlib.suppress(ConnectionError):  # The server may close before it has read everything.
                client.sendall(garbage)
            return receive_all(client)

    def test_in_http_it_is_answered_and_closed(self):
        with Server() as server:
            for garbage in (
                b"\x00\xff\r\n\r\n",
                b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
                b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
                b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
                b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
                b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
                PING,
            ):
                self.assertRegex(self.answer(server, server.http, garbage), rb"^HTTP/1\.1 4\d\d ", garbage)
            self.assertEqual(server.check("alice")[0], 200)
            self.assertEqual(server.metric("rate_limiter_protocol_errors_total", protocol="http"), 7)

    def test_in_the_redis_protocol_it_is_answered_and_closed(self):
        with Server() as server, server.connect(server.resp) as other:
            for garbage in (
                b"*1\r\n$-5\r\n",
                b"*1\r\n$99999999999\r\n",
                b"*1\r\n$1073741824\r\n",
                b"*2000000000\r\n",
                b"*1\r\n:5\r\n",
                b"*" + b"1" * 100000,
                b"PING " + b"x" * 100000,
                b'PING "never closed\r\n',
                b"*3\r\n" * 100000,
                b"ECHO" + b" x" * 30000 + b"\r\n",
            ):
                answer = self.answer(server, server.resp, PING + garbage)
                self.assertTrue(answer.startswith(PONG + b"-ERR Protocol error: "), (garbage[:40], answer))
                other.sendall(PING)
                self.assertEqual(receive_until(other, PONG), PONG)

    def test_a_web_page_that_speaks_to_the_redis_port_is_closed(self):
        with Server() as server:
            post = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20\r\n\r\nCL.THROTTLE k 1 1 1\r\n"
            self.assertNotIn(b"*5", self.answer(server, server.resp, post))


    def test_a_tls_client_of_the_redis_port_is_closed_without_an_answer(self):
        with Server() as server:
            hello = b"\x16\x03\x01\x00\x20" + b"\r\nPING\r\nPING\r\n"
            self.assertEqual(self.answer(server, server.resp, hello), b"")
            self.assertEqual(server.metric("rate_limiter_protocol_errors_total", protocol="resp"), 1)


class Guesses(unittest.TestCase):
    TOKEN = "a-token-that-is-long-enough"

    def rules(self, server, token):
        return server.request("GET", "/admin/rules", headers={"Authorization": f"Bearer {token}"})[0]

    def test_of_the_admin_token_are_counted_and_cost_the_connection(self):
        with Server("--admin-token", self.TOKEN) as server, server.connect(server.resp) as guesser:
            guesser.sendall(b"".join(b"AUTH guess%d\r\n" % i for i in range(100)))
            received = receive_all(guesser)
            self.assertIn(b"-WRONGPASS ", received)
            self.assertRegex(received, rb"\n-ERR too many wrong passwords[^\r]*\r\n$")
            compared = received.count(b"\n") - 1
            self.assertLess(compared, 100)
            self.assertEqual(self.rules(server, "a-token-that-is-wrong"), 429)
            self.assertEqual(self.rules(server, self.TOKEN), 200, "the right token is not locked out")
            self.assertEqual(server.metric("rate_limiter_admin_token_failures_total", protocol="resp"), compared + 1)
            self.assertEqual(server.metric("rate_limiter_admin_token_failures_total", protocol="http"), 1)
            self.assertEqual(len(server.log_lines("wrong token")), 1)

    def test_are_too_easy_of_a_short_token(self):
        for flags in (("--admin-token", "x"), ("--admin-token", "only-15-letters")):
            with self.assertRaisesRegex(AssertionError, "at least 16 characters"):
                Server(*flags)


class Browsers(unittest.TestCase):
    def test_pages_can_not_read_what_is_for_administrators(self):
        with Server("--admin-hosts", "sluice.internal") as server:
            for headers, status in (
                ({}, 200),
                ({"Host": "localhost:8080"}, 200),
                ({"Host": "Sluice.internal"}, 200),
                ({"Host": "rebound.example"}, 403),
                ({"Sec-Fetch-Site": "none"}, 200),
                ({"Sec-Fetch-Site": "cross-site"}, 403),
                ({"Origin": "http://page.example"}, 403),
            ):
                self.assertEqual(server.request("GET", "/admin/rules", headers=headers)[0], status, headers)

    def test_pages_can_not_send_checks(self):
        body = '{"key":"victim"}'
        page = {"Origin": "http://page.example"}
        with Server() as server:
            for headers, status in (
                ({"Content-Type": "text/plain"}, 415),
                ({"Content-Type": "multipart/form-data; boundary=x"}, 415),
                ({"Content-Type": "application/x-www-form-urlencoded", **page}, 415),
                ({"Sec-Fetch-Site": "cross-site"}, 415),
                ({"Content-Type": "application/x-www-form-urlencoded"}, 200),
                ({"Content-Type": "application/json", **page}, 200),
                ({}, 200),
            ):
                answered = server.request("POST", "/api/v1/rate-limit/check", body, headers)[0]
                self.assertEqual(answered, status, headers)


class Slow(unittest.TestCase):
    def serve(self):
        return Server("--limits-request-timeout", "1s", "--limits-idle-timeout", "2s")

    def drip(self, client, text):
        """Sends a byte at a time until the server closes the connection."""
        client.settimeout(0.05)
        sent = 0
        ended = []

        def is_over():
            nonlocal sent
            try:
                client.sendall(text[sent % len(text) :][:1])
                sent += 1
                ended.append(client.recv(4096) == b"")
            except TimeoutError:
                return False
            except ConnectionError:
                ended.append(True)
            return ended[-1]

        wait_until(is_over)

    def test_clients_that_send_headers_a_byte_at_a_time_are_closed(self):
        with self.serve() as server, server.connect(server.http) as client:
            client.sendall(b"GET / HTTP/1.1\r\n")
            self.drip(client, b"X-Header: value\r\n")
            self.assertEqual(bound_broken(server, "http", "slow_request"), 1)

    def test_clients_that_never_end_a_body_are_closed(self):
        with self.serve() as server, server.connect(server.http) as client:
            client.sendall(b"POST /api/v1/rate-limit/check HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n{")
            self.assertEqual(receive_all(client), b"")
            self.assertEqual(bound_broken(server, "http", "slow_request"), 1)

    def test_clients_that_never_end_a_command_are_closed(self):
        with self.serve() as server, server.connect(server.resp) as client:
            client.sendall(PING + b"*6\r\n$11\r\nCL.THR")
            self.assertEqual(receive_all(client), PONG)
            self.assertEqual(bound_broken(server, "resp", "slow_request"), 1)

    def test_idle_clients_are_closed_and_busy_ones_are_not(self):
        with self.serve() as server, server.connect(server.resp) as busy, server.connect(server.resp) as idle:
            closed = threading.Event()

            def wait():
                receive_all(idle)
                closed.set()

            waiting = threading.Thread(target=wait)
            waiting.start()
            while not closed.wait(0.2):
                busy.sendall(PING)
                self.assertEqual(receive_until(busy, PONG), PONG)
            waiting.join(TIMEOUT)
            self.assertEqual(bound_broken(server, "resp", "idle"), 1)


class Deaf(unittest.TestCase):
    """Clients that ask and ask, and take no answer."""

    def fill(self, client, request):
        """Sends requests until the server takes no more; returns how many bytes it took."""
        client.settimeout(1)
        sent = 0
        data = request * (65536 // len(request))
        with contextlib.suppress(TimeoutError):
            while True:
                sent += client.send(data[sent % len(request) :])
        client.settimeout(TIMEOUT)
        return sent

    def test_they_are_not_read_from_and_get_every_answer_when_they_listen(self):
        with Server() as server, server.connect(server.resp) as deaf:
            request = b"*2\r\n$4\r\nECHO\r\n$8\r\n01234567\r\n"
            sent = self.fill(deaf, request)
            self.assertLess(sent, 64 << 20)
            self.assertEqual(server.check("alice")[0], 200)
            deaf.shutdown(socket.SHUT_WR)
            self.assertEqual(receive_all(deaf), b"$8\r\n01234567\r\n" * (sent // len(request)))

    @unittest.skipIf(SANITIZED, "sanitizers keep memory that was given back")
    def test_they_do_not_make_the_server_grow(self):
        with Server() as server, contextlib.ExitStack() as stack:
            before = server.metric("process_resident_memory_bytes")
            for port, request in ((server.http, LARGE_ANSWER), (server.resp, b"COMMAND DOCS\r\n")):
                deaf = [stack.enter_context(server.connect(port)) for _ in range(20)]
                for client in deaf:
                    client.setblocking(False)
                    with contextlib.suppress(BlockingIOError):
                        client.send(request * (65536 // len(request)))
                self.assertEqual(server.check("alice")[0], 200)
            grown = server.metric("process_resident_memory_bytes") - before
            self.assertLess(grown, 40 * (4 << 20))

    def test_beyond_the_bound_they_are_closed(self):
        with Server("--limits-output-bytes", "65536") as server, server.connect(server.http) as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            with contextlib.suppress(ConnectionError):
                deaf.sendall(LARGE_ANSWER * 1000)
            wait_until(lambda: bound_broken(server, "http", "output_buffer") == 1)
            self.assertEqual(server.check("alice")[0], 200)


class Vanishing(unittest.TestCase):
    def test_connections_that_are_reset_leave_nothing_behind(self):
        with Server() as server, server.connect(server.resp) as other:
            for port, begun in (
                (server.http, b"GET /livez HTT"),
                (server.http, b"POST /api/v1/rate-limit/check HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n{"),
                (server.http, LIVEZ * 100),
                (server.resp, b"*6\r\n$11\r\nCL."),
                (server.resp, PING * 1000),
            ):
                for _ in range(100):
                    client = server.connect(port)
                    client.sendall(begun)
                    reset(client)
                other.sendall(PING)
                self.assertEqual(receive_until(other, PONG), PONG)
            # One asks for the number.
            wait_until(lambda: open_connections(server, "http") == 1)
            wait_until(lambda: open_connections(server, "resp") == 1)


class Crowds(unittest.TestCase):
    def enter(self, stack, server, count):
        """Connections that are answered, as many as there is room for."""
        inside = []
        for _ in range(count):
            client = stack.enter_context(server.connect(server.resp))
            with contextlib.suppress(ConnectionError):
                client.sendall(PING)
                if client.recv(len(PONG)) == PONG:
                    inside.append(client)
        return inside

    def is_answered(self, server):
        """Over HTTP, where refused clients get 503, or a reset if their request was sent already."""
        try:
            return server.request("GET", "/livez")[0] == 200
        except ConnectionError:
            return False

    def assert_served(self, clients):
        for client in clients:
            client.sendall(PING)
            self.assertEqual(receive_until(client, PONG), PONG)

    def test_clients_over_the_limit_are_refused_and_the_others_are_served(self):
        with Server("--limits-connections", "100") as server, contextlib.ExitStack() as stack:
            inside = self.enter(stack, server, 100)
            self.assertEqual(len(inside), 100)
            crowd = scaled(3000)
            for number in range(crowd):
                http = number % 2 == 0
                client = server.connect(server.http if http else server.resp)
                if http:  # It might have asked for health.
                    client.sendall(b"GET /api/ping HTTP/1.1\r\nHost: h\r\n\r\n")
                received = receive_all(client)
                reset(client)
                self.assertTrue(received.startswith(b"HTTP/1.1 503 " if http else b"-ERR max number of clients"), received)
            self.assert_served(inside)
            reset(inside.pop())
            wait_until(lambda: len(self.enter(stack, server, 1)) == 1)
            for client in inside[:10]:
                reset(client)
            wait_until(lambda: self.is_answered(server))
            self.assertGreaterEqual(refused(server, "http", "max_connections"), crowd / 2)

    def test_one_address_can_not_take_all_the_room(self):
        with Server("--limits-connections-per-address", "5") as server, contextlib.ExitStack() as stack:
            inside = self.enter(stack, server, 20)
            self.assertEqual(len(inside), 5)
            self.assert_served(inside)

    def test_without_file_descriptors_those_inside_are_served(self):
        with Server(files=64) as server, contextlib.ExitStack() as stack:
            # UBSan checks the first object of a type through a pipe, for which there would be no descriptor.
            with contextlib.ExitStack() as first:
                self.enter(first, server, 1)
            wait_until(lambda: open_connections(server, "resp") == 0)
            inside = self.enter(stack, server, 100)
            self.assertGreater(len(inside), 10)
            self.assertLess(len(inside), 64)
            for _ in range(10):
                self.assert_served(inside)
            for client in inside[:10]:
                reset(client)
            wait_until(lambda: len(self.enter(stack, server, 1)) == 1)
            self.assert_served(inside[10:])
            wait_until(lambda: self.is_answered(server))
            self.assertGreater(refused(server, "resp", "no_descriptors"), 0)


if __name__ == "__main__":
    unittest.main()
