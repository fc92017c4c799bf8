"""Metrics of the server named by SLUICE for StatsD and DogStatsD: over UDP and Unix sockets, with and without a receiver."""

import contextlib
import re
import socket
import unittest

from support import metrics
from support.environment import TIMEOUT, wait_until
from support.sluice import ServerTest, run_sluice

RULES = """
rules:
  - { id: "few:1|c", match: { api_key: "a-*" }, limit: 2 per day, per: [api_key] }
"""
LINE = re.compile(r"(?P<name>[A-Za-z0-9_.-]+):(?P<value>-?[0-9.]+)\|(?P<kind>[cg])(?P<tags>\|#[A-Za-z0-9_:,./-]+)?")


class StatsdTest(ServerTest):
    def receiver(self, family=socket.AF_INET, address=("127.0.0.1", 0)):
        bound = self.enterContext(contextlib.closing(socket.socket(family, socket.SOCK_DGRAM)))
        bound.bind(address)
        bound.settimeout(TIMEOUT)
        return bound

    def receive_until(self, receiver, server, condition):
        """Sums of counters and last values of gauges, by name and tags, once they meet the condition."""
        sums = {}
        while not condition(sums):
            datagram = receiver.recv(65536)
            self.assertLessEqual(len(datagram), 1432)
            for line in datagram.decode().split("\n"):
                found = LINE.fullmatch(line)
                self.assertTrue(found, line)
                series = found["name"] + (found["tags"] or "")
                value = float(found["value"])
                sums[series] = value + sums.get(series, 0) if found["kind"] == "c" else value
        return sums

    def test_counters_add_up_to_those_of_the_prometheus_page(self):
        receiver = self.receiver()
        port = receiver.getsockname()[1]
        for format_, allowed, denied in (
            ("dogstatsd", "x.rate_limiter_calls_total|#zone:b,protocol:http,outcome:allowed", "x.rate_limiter_calls_total|#zone:b,protocol:http,outcome:denied"),
            ("statsd", "x.rate_limiter_calls_total.b.http.allowed", "x.rate_limiter_calls_total.b.http.denied"),
        ):  # fmt: skip
            with self.subTest(format_):
                server = self.serve(
                    "--statsd-address", f"127.0.0.1:{port}", "--statsd-format", format_, "--statsd-interval", "10ms", "--statsd-prefix", "x.",
                    "--metrics-labels", "zone=b", rules=RULES,
                )  # fmt: skip
                for _ in range(7):
                    server.check("a-1")
                sums = self.receive_until(receiver, server, lambda sums, denied=denied: sums.get(denied) == 5)
                self.assertEqual(sums[allowed], 2)
                page = server.request("GET", "/metrics").text
                self.assertEqual(metrics.total(page, "rate_limiter_calls_total", outcome="denied"), 5)
                self.assertTrue(any("few_1_c" in series for series in sums), "names of rules are cleaned")
                server.stop()
                receiver.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    while receiver.recv(65536):
                        pass
                receiver.settimeout(TIMEOUT)

    def test_a_unix_socket_is_used_and_found_again(self):
        path = self.folder / "statsd"
        server = self.serve("--statsd-address", f"unix:{path}", "--statsd-interval", "10ms", rules=RULES)
        wait_until(lambda: server.metric("rate_limiter_statsd_datagrams_dropped_total") > 0, "there is no receiver yet")
        for _ in range(2):
            receiver = self.receiver(socket.AF_UNIX, str(path))
            self.receive_until(receiver, server, lambda sums: any(name.startswith("rate_limiter_ready") for name in sums))
            receiver.close()
            path.unlink()

    def test_without_a_receiver_calls_are_answered_and_the_server_stops(self):
        server = self.serve("--statsd-address", "127.0.0.1:9", "--statsd-interval", "1ms", rules=RULES)
        self.assertEqual(server.check("a-1").status, 200)
        self.assertEqual(server.stop(), 0)

    def test_a_receiver_that_does_not_read_holds_nothing_up(self):
        path = self.folder / "statsd"
        self.receiver(socket.AF_UNIX, str(path))  # Its queue is full after a few datagrams.
        server = self.serve("--statsd-address", f"unix:{path}", "--statsd-interval", "1ms", rules=RULES)
        wait_until(lambda: server.metric("rate_limiter_statsd_datagrams_dropped_total") > 0)
        self.assertEqual(server.check("a-1").status, 200)
        self.assertEqual(server.stop(), 0)

    def test_wrong_values_are_refused_at_once(self):
        for flags in (["--statsd-address", "nowhere"], ["--statsd-format", "graphite"], ["--statsd-prefix", "a:b"], ["--statsd-interval", "0"]):
            refused = run_sluice("serve", "--http", "127.0.0.1:0", "--resp", "none", "--grpc", "none", *flags)
            self.assertNotEqual(refused.returncode, 0, flags)
            self.assertIn("statsd", refused.stderr, flags)


if __name__ == "__main__":
    unittest.main()
