"""The server on a real Redis: answers that come later, or not at all."""

import signal
import unittest

from support.environment import wait_until
from support.http1 import read_response
from support.redis_servers import RedisServer
from support.resp import encode, read_reply
from support.sluice import ServerTest
from support.sockets import receive_all, receive_until, reset

THREE_A_DAY = "rules: [{ id: api, algorithm: fixed_window, limit: 3, window: 1d }]\n"
HEAD = b"HEAD /livez HTTP/1.1\r\nHost: h\r\n\r\n"
PLENTY = "rules: [{ id: api, limit: 1000000/day }]\n"


def check(key, more=""):
    return f"GET /api/v1/rate-limit/check?key={key} HTTP/1.1\r\nHost: h\r\n{more}\r\n".encode()


LAST = check("last", "Connection: close\r\n")


class RedisTest(ServerTest):
    def setUp(self):
        self.redis = self.enterContext(RedisServer(start=False))

    def start(self, rules, deadline="30s"):
        return self.serve(store=self.redis.url, store_deadline=deadline, rules=rules)


class OnRedis(RedisTest):
    def test_two_servers_enforce_one_limit(self):
        self.redis.start()
        with self.start(THREE_A_DAY) as one, self.start(THREE_A_DAY) as other:
            statuses = [server.check("alice")[0] for server in (one, other, one, other, one)]
            self.assertEqual(statuses, [200, 200, 200, 429, 429])

    def test_two_servers_share_a_counter(self):
        self.redis.start()
        hit = ("INCREX", "alice", "UBOUND", "3", "EX", "3600", "ENX")
        with self.start(PLENTY) as one, self.start(PLENTY) as other:
            replies = [server.redis_cli(*hit) for server in (one, other, one, other)]
            self.assertEqual(replies, [["1", "1"], ["2", "1"], ["3", "1"], ["3", "0"]])
            self.assertEqual(other.redis_cli("GET", "alice"), ["3"])
            self.assertIn(int(one.redis_cli("PTTL", "alice")[0]), range(1, 3_600_001))
            self.assertEqual(one.redis_cli("DEL", "alice"), ["1"])
            # The other server remembers the denial until the message of the reset arrives, or its next check of the denial.
            wait_until(lambda: other.redis_cli(*hit) == ["1", "1"])

    def test_it_starts_without_redis_and_heals_when_redis_comes(self):
        rules = (
            "rules: [{ id: api, limit: 100/day }, { id: shut, match: { api_key: closed }, limit: 1/day, "
            "on_store_failure: closed }]"
        )
        with self.start(rules, "50ms") as server:
            response = server.check("alice")
            self.assertEqual(response.status, 200)
            self.assertEqual(response.headers["X-RateLimit-Degraded"], "true")
            self.assertTrue(response.json()["degraded"])
            self.assertEqual(server.check("closed")[0], 503)
            self.redis.start()
            wait_until(lambda: "X-RateLimit-Degraded" not in server.check("alice").headers)


TEN = "rules: [{ id: api, capacity: 10, refill_rate: 1 per day }]\n"


def take(server, key):
    response = server.request("POST", "/api/v1/rate-limit/check", {"key": key})
    assert response.status == 200, response
    return response.json()["receipt"]


def correct(server, operation, receipt, **more):
    response = server.request("POST", f"/api/v1/rate-limit/{operation}", {"receipt": receipt, **more})
    return response.status, response.json()


def remaining(server, key):
    return server.request("GET", f"/api/v1/rate-limit/remaining?key={key}").json()["remaining"]


class Receipts(RedisTest):
    def serve_ten(self, *flags, **options):
        secret = self.folder / "secret"
        secret.write_text("of all servers, and long enough\n", encoding="utf-8")
        return self.serve("--receipts-secret-file", secret, *flags, rules=TEN, **options)

    def expect_one_refund(self, servers):
        receipts = [take(servers[0], "a") for _ in range(5)]
        for server in servers * 10:
            status, answer = correct(server, "cancel", receipts[0])
            self.assertEqual((status, answer["cancelled"]), (200, True))
            self.assertEqual(remaining(server, "a"), 6)
        status, answer = correct(servers[0], "settle", receipts[0], cost=3)
        self.assertEqual((status, answer["code"]), (409, "ALREADY_SETTLED"))
        status, answer = correct(servers[0], "settle", receipts[1], cost=2**53)
        self.assertEqual((status, answer["capped"], answer["limits"][0]["settled"]), (200, True, 40))

    def test_twenty_cancellations_are_one_refund_in_memory(self):
        with self.serve_ten() as server:
            self.expect_one_refund([server])

    def test_twenty_cancellations_are_one_refund_whichever_server_is_asked(self):
        self.redis.start()
        with self.serve_ten(store=self.redis.url) as one, self.serve_ten(store=self.redis.url) as other:
            self.expect_one_refund([one, other])

    def test_a_cancellation_that_timed_out_can_be_repeated(self):
        self.redis.start()
        with self.serve_ten(store=self.redis.url, store_deadline="1s") as server:
            receipts = [take(server, "a") for _ in range(5)]
            self.redis.pause()
            status, answer = correct(server, "cancel", receipts[0])
            self.assertEqual((status, answer["code"]), (503, "STORAGE_TIMEOUT"))
            self.redis.resume()
            wait_until(lambda: correct(server, "cancel", receipts[0])[0] == 200)
            self.assertEqual(correct(server, "cancel", receipts[0])[0], 200)
            wait_until(lambda: remaining(server, "a") == 6)

    def test_a_key_remembers_so_many_receipts(self):
        self.redis.start()
        with self.serve_ten("--receipts-max-settled-per-key", "2", store=self.redis.url) as server:
            receipts = [take(server, "a") for _ in range(3)]
            answers = [correct(server, "cancel", receipt) for receipt in receipts]
            self.assertEqual([status for status, _ in answers], [200, 200, 503])
            self.assertEqual(answers[2][1]["code"], "TOO_MANY_SETTLEMENTS")
            self.assertEqual(remaining(server, "a"), 9)


class LateAnswers(RedisTest):
    def setUp(self):
        super().setUp()
        self.redis.start()

    def test_pipelined_http_is_answered_in_order_though_redis_stops_in_the_middle(self):
        with self.start(PLENTY) as server, server.connect(server.http) as client:
            keys = [f"user{number}" for number in range(600)]
            for part in range(0, 600, 200):
                if part == 200:
                    self.redis.pause()
                # Between them one that needs no Redis: it waits for its turn all the same.
                client.sendall(b"".join(check(key) + HEAD for key in keys[part : part + 200]))
            client.sendall(LAST)
            self.redis.resume()
            with client.makefile("rb") as stream:
                responses = [read_response(stream, head=i % 2) for i in range(2 * len(keys) + 1)]
                self.assertEqual(stream.read(), b"")
            self.assertEqual([response.json()["key"] for response in responses[::2]], [*keys, "last"])
            self.assertEqual({response.status for response in responses}, {200})
            self.assertFalse([response for response in responses if "X-RateLimit-Degraded" in response.headers])

    def test_pipelined_commands_are_answered_in_order_though_redis_stops_in_the_middle(self):
        with self.start(PLENTY) as server, server.connect(server.resp) as client:
            # What comes before Redis knows the script is sent twice, maybe behind others.
            client.sendall(encode("CL.THROTTLE", "other", "5", "1", "86400") + encode("ECHO", "known"))
            receive_until(client, b"known\r\n")
            count = 900
            for part in range(0, count, 300):
                if part == 300:
                    self.redis.pause()
                for number in range(part, part + 300):
                    client.sendall(encode("CL.THROTTLE", "user", 999, 1, 2400))
                    client.sendall(encode("ECHO", number))
            client.sendall(encode("QUIT"))
            self.redis.resume()
            with client.makefile("rb") as stream:
                replies = [read_reply(stream) for _ in range(2 * count + 1)]
            expected = [["0", "1000", str(remaining)] for remaining in range(999, 999 - count, -1)]
            self.assertEqual([reply[:3] for reply in replies[:-1:2]], expected)
            self.assertEqual(replies[1:-1:2], [str(number) for number in range(count)])
            self.assertEqual(replies[-1], "OK")

    def test_past_the_deadline_the_rule_answers_in_order_and_redis_comes_back(self):
        with self.start(PLENTY, "50ms") as server:
            self.assertEqual(server.check("alice")[0], 200)
            self.redis.pause()
            keys = [f"user{number}" for number in range(100)]
            with server.connect(server.http) as client, client.makefile("rb") as stream:
                client.sendall(b"".join(map(check, keys)) + LAST)
                responses = [read_response(stream) for _ in range(len(keys) + 1)]
                self.assertEqual(stream.read(), b"")
            self.redis.resume()
            self.assertEqual([response.json()["key"] for response in responses], [*keys, "last"])
            self.assertEqual({response.headers["X-RateLimit-Degraded"] for response in responses}, {"true"})
            wait_until(lambda: "X-RateLimit-Degraded" not in server.check("alice").headers)

    def test_clients_may_be_gone_before_their_answer_comes(self):
        with self.start(PLENTY) as server, server.connect(server.resp) as other:
            self.assertEqual(server.check("alice")[0], 200)
            self.redis.pause()
            for number in range(200):
                with_http = number % 2 == 0
                client = server.connect(server.http if with_http else server.resp)
                client.sendall((check("gone") if with_http else encode("SLUICE.CHECK", "api_key", "gone")) * 5)
                reset(client) if number % 4 < 2 else client.close()
            other.sendall(encode("SLUICE.CHECK", "api_key", "other"))
            self.redis.resume()
            self.assertEqual(read_reply(other.makefile("rb"))[:3], ["1", "1000000", "999999"])
            wait_until(lambda: server.metric("rate_limiter_connections", protocol="http") == 1)
            wait_until(lambda: server.metric("rate_limiter_connections", protocol="resp") == 1)

    def test_why_there_is_no_connection_is_logged(self):
        self.assertEqual(self.redis.send("CONFIG", "SET", "requirepass", "secret"), "OK")
        with self.start(PLENTY) as server:
            wait_until(lambda: server.log_lines("no connection to Redis"))
            self.assertTrue(server.log_lines("NOAUTH"))

    def test_calls_that_wait_for_redis_at_shutdown_are_answered(self):
        with self.start(PLENTY) as server, server.connect(server.http) as client:
            self.assertEqual(server.check("alice")[0], 200)
            self.redis.pause()
            client.sendall(check("alice"))
            wait_until(lambda: server.metric("rate_limiter_redis_in_flight") > 0)
            server.process.send_signal(signal.SIGTERM)
            wait_until(lambda: server.log_lines("draining"))
            self.redis.resume()
            self.assertTrue(receive_all(client).startswith(b"HTTP/1.1 200 OK\r\n"))
            self.assertEqual(server.wait(), 0)


if __name__ == "__main__":
    unittest.main()
