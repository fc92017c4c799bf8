"""Four servers on one Redis, whatever its form, admit together exactly what one would."""

import socket
import threading
import unittest

from faults import servers_on
from places import Cluster, Sentinel, Single, read_reply
from running import PATIENCE

LIMIT = 1000
RULES = f"rules: [{{ id: api, algorithm: fixed_window, limit: {LIMIT}, window: 30d }}]\n"
KEYS = [f"user{number}" for number in range(5)]
CALLS = 100  # Of each caller, for each key. Four callers at each of four servers: 1600 for a limit of 1000.


def ask_over_http(server, admitted):
    with socket.create_connection(("127.0.0.1", server.http), PATIENCE) as client, client.makefile("rb") as stream:
        for key in KEYS:
            client.sendall(f"GET /api/v1/rate-limit/check?key={key} HTTP/1.1\r\nHost: h\r\n\r\n".encode() * CALLS)
            for _ in range(CALLS):
                status = stream.readline().split()[1]
                length = 0
                while (line := stream.readline().strip().lower()) != b"":
                    if line.startswith(b"content-length:"):
                        length = int(line.split(b":")[1])
                    if line.startswith(b"x-ratelimit-degraded"):
                        raise AssertionError("degraded, though nothing is wrong")
                stream.read(length)
                admitted.append((key, status == b"200"))


def ask_over_resp(server, admitted):
    with socket.create_connection(("127.0.0.1", server.resp), PATIENCE) as client, client.makefile("rb") as stream:
        for key in KEYS:
            client.sendall(f"SLUICE.CHECK api_key {key}\r\n".encode() * CALLS)
            for _ in range(CALLS):
                admitted.append((key, read_reply(stream)[0] == "1"))


class FourServers(unittest.TestCase):
    def expect_exact(self, place):
        # With time to connect, also on a busy machine.
        with place, servers_on(place.url, 4, RULES, deadline="30s") as servers:
            admitted = []
            threads = [
                threading.Thread(target=ask, args=(server, admitted))
                for server in servers
                for ask in (ask_over_http, ask_over_resp) * 2
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(len(admitted), len(threads) * len(KEYS) * CALLS, "somebody was not answered")
            for key in KEYS:
                self.assertEqual(admitted.count((key, True)), LIMIT, key)

    def test_on_one_redis(self):
        self.expect_exact(Single())

    def test_on_sentinel(self):
        self.expect_exact(Sentinel())

    def test_on_a_cluster(self):
        self.expect_exact(Cluster())


if __name__ == "__main__":
    unittest.main()
