"""Four servers on one Redis, whatever its form, admit together exactly what one would."""

import unittest

from faults import servers_on

from support.environment import run_in_parallel
from support.http1 import read_response
from support.redis_servers import Cluster, RedisServer, Sentinel
from support.resp import read_reply

LIMIT = 1000
RULES = f"rules: [{{ id: api, algorithm: fixed_window, limit: {LIMIT}, window: 30d }}]\n"
KEYS = [f"user{number}" for number in range(5)]
CALLS = 100  # Of each caller, for each key. Four callers at each of four servers: 1600 for a limit of 1000.


def check_over_http(server):
    admitted = []
    with server.connect(server.http) as client, client.makefile("rb") as stream:
        for key in KEYS:
            client.sendall(f"GET /api/v1/rate-limit/check?key={key} HTTP/1.1\r\nHost: h\r\n\r\n".encode() * CALLS)
            for _ in range(CALLS):
                response = read_response(stream)
                if "X-RateLimit-Degraded" in response.headers:
                    raise AssertionError("degraded, though nothing is wrong")
                admitted.append((key, response.status == 200))
    return admitted


def check_over_resp(server):
    admitted = []
    with server.connect(server.resp) as client, client.makefile("rb") as stream:
        for key in KEYS:
            client.sendall(f"SLUICE.CHECK api_key {key}\r\n".encode() * CALLS)
            for _ in range(CALLS):
                admitted.append((key, read_reply(stream)[0] == "1"))
    return admitted


class FourServers(unittest.TestCase):
    def expect_exact(self, redis):
        # With time to connect, also on a busy machine.
        with redis, servers_on(redis.url, 4, RULES, deadline="30s") as servers:
            callers = [(check, server) for server in servers for check in (check_over_http, check_over_resp) * 2]
            admitted = sum(run_in_parallel(lambda check, server: check(server), *callers), [])
            self.assertEqual(len(admitted), len(callers) * len(KEYS) * CALLS, "some calls were not answered")
            for key in KEYS:
                self.assertEqual(admitted.count((key, True)), LIMIT, key)

    def test_on_one_redis(self):
        self.expect_exact(RedisServer())

    def test_on_sentinel(self):
        self.expect_exact(Sentinel())

    def test_on_a_cluster(self):
        self.expect_exact(Cluster())


if __name__ == "__main__":
    unittest.main()
