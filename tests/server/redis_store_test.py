"""The server on a real Redis: answers that come later, or not at all."""

import json
import re
import signal
import subprocess
import unittest

from running import Redis, Server, receive_all, receive_until, rules_in, until, vanish

THREE_A_DAY = "rules: [{ id: api, algorithm: fixed_window, limit: 3, window: 1d }]\n"
HEAD = b"HEAD /livez HTTP/1.1\r\nHost: h\r\n\r\n"
PLENTY = "rules: [{ id: api, limit: 1000000/day }]\n"


def check(key, more=""):
    return f"GET /api/v1/rate-limit/check?key={key} HTTP/1.1\r\nHost: h\r\n{more}\r\n".encode()


def command(*words):
    return "\r\n".join([f"*{len(words)}", *(f"${len(word)}\r\n{word}" for word in words), ""]).encode()


class RedisTest(unittest.TestCase):
    def setUp(self):
        self.redis = Redis()
        self.addCleanup(self.redis.__exit__)

    def serve(self, rules, deadline="30s"):
        path = rules_in(self.redis.folder.name, rules)
        return Server("--rules", str(path), "--store", self.redis.url, "--store-deadline", deadline)


class OnRedis(RedisTest):
    def test_two_servers_enforce_one_limit(self):
        self.redis.start()
        with self.serve(THREE_A_DAY) as one, self.serve(THREE_A_DAY) as other:
            statuses = [server.check("alice")[0] for server in (one, other, one, other, one)]
            self.assertEqual(statuses, [200, 200, 200, 429, 429])

    def test_it_starts_without_redis_and_heals_when_redis_comes(self):
        rules = (
            "rules: [{ id: api, limit: 100/day }, { id: shut, match: { api_key: closed }, limit: 1/day, "
            "on_store_failure: closed }]"
        )
        with self.serve(rules, "50ms") as server:
            status, headers, text = server.check("alice")
            self.assertEqual(status, 200)
            self.assertEqual(headers["X-RateLimit-Degraded"], "true")
            self.assertTrue(json.loads(text)["degraded"])
            self.assertEqual(server.check("closed")[0], 503)
            self.redis.start()
            self.assertTrue(until(lambda: "X-RateLimit-Degraded" not in server.check("alice")[1]))


class LateAnswers(RedisTest):
    def setUp(self):
        super().setUp()
        self.redis.start()

    def test_pipelined_http_is_answered_in_order_though_redis_stops_in_the_middle(self):
        with self.serve(PLENTY) as server, server.connect(server.http) as client:
            keys = [f"user{number}" for number in range(600)]
            for part in range(0, 600, 200):
                if part == 200:
                    self.redis.pause()
                # Between them one that needs no Redis: it waits for its turn all the same.
                client.sendall(b"".join(check(key) + HEAD for key in keys[part : part + 200]))
            client.sendall(check("last", "Connection: close\r\n"))
            self.redis.resume()
            told = receive_all(client).decode()
            self.assertEqual(re.findall(r'"key":"(\w+)"', told), [*keys, "last"])
            self.assertEqual(told.count("HTTP/1.1 200 OK"), 1201)
            self.assertNotIn("Degraded", told)

    def test_pipelined_commands_are_answered_in_order_though_redis_stops_in_the_middle(self):
        with self.serve(PLENTY) as server, server.connect(server.resp) as client:
            # What comes before Redis knows the script is sent twice, maybe behind others.
            client.sendall(command("CL.THROTTLE", "other", "5", "1", "86400") + command("ECHO", "known"))
            receive_until(client, b"known\r\n")
            count = 900
            for part in range(0, count, 300):
                if part == 300:
                    self.redis.pause()
                for number in range(part, part + 300):
                    client.sendall(command("CL.THROTTLE", "user", "999", "1", "86400"))
                    client.sendall(command("ECHO", f"{number:04}"))
            client.sendall(command("QUIT"))
            self.redis.resume()
            told = receive_all(client).decode()
            left = [int(n) for n in re.findall(r"\*5\r\n:0\r\n:1000\r\n:(\d+)\r\n", told)]
            self.assertEqual(left, list(range(999, 999 - count, -1)))
            self.assertEqual(re.findall(r"\$4\r\n(\d+)", told), [f"{number:04}" for number in range(count)])
            self.assertTrue(told.endswith("+OK\r\n"))

    def test_past_the_deadline_the_rule_answers_in_order_and_redis_comes_back(self):
        with self.serve(PLENTY, "50ms") as server:
            self.assertEqual(server.check("alice")[0], 200)
            self.redis.pause()
            keys = [f"user{number}" for number in range(100)]
            with server.connect(server.http) as client:
                client.sendall(b"".join(map(check, keys)) + check("last", "Connection: close\r\n"))
                told = receive_all(client).decode()
            self.redis.resume()
            self.assertEqual(re.findall(r'"key":"(\w+)"', told), [*keys, "last"])
            self.assertEqual(told.count("X-RateLimit-Degraded: true"), 101)
            self.assertTrue(until(lambda: "X-RateLimit-Degraded" not in server.check("alice")[1]))

    def test_clients_may_be_gone_before_their_answer_comes(self):
        with self.serve(PLENTY) as server, server.connect(server.resp) as other:
            self.assertEqual(server.check("alice")[0], 200)
            self.redis.pause()
            for number in range(200):
                with_http = number % 2 == 0
                client = server.connect(server.http if with_http else server.resp)
                client.sendall((check("gone") if with_http else command("SLUICE.CHECK", "api_key", "gone")) * 5)
                vanish(client) if number % 4 < 2 else client.close()
            other.sendall(command("SLUICE.CHECK", "api_key", "other"))
            self.redis.resume()
            self.assertIn(b"*8\r\n:1\r\n:1000000\r\n:999999\r\n", receive_until(other, b":0\r\n:0\r\n"))
            self.assertTrue(until(lambda: server.metric('rate_limiter_connections{protocol="http"}') == 1))
            self.assertTrue(until(lambda: server.metric('rate_limiter_connections{protocol="resp"}') == 1))

    def test_why_there_is_no_connection_is_told(self):
        set_password = ["redis-cli", "-p", str(self.redis.port), "CONFIG", "SET", "requirepass", "secret"]
        subprocess.run(set_password, check=True, capture_output=True)
        with self.serve(PLENTY) as server:
            self.assertTrue(until(lambda: any("no connection to Redis" in line for line in server.log)))
            self.assertTrue(any("NOAUTH" in line for line in server.log))

    def test_who_waits_for_redis_when_the_server_ends_is_answered(self):
        with self.serve(PLENTY) as server, server.connect(server.http) as client:
            self.assertEqual(server.check("alice")[0], 200)
            self.redis.pause()
            client.sendall(check("alice"))
            self.assertTrue(until(lambda: server.metric("rate_limiter_redis_in_flight") > 0))
            server.process.send_signal(signal.SIGTERM)
            self.assertTrue(until(lambda: any("ending" in line for line in server.log)))
            self.redis.resume()
            self.assertTrue(receive_all(client).startswith(b"HTTP/1.1 200 OK\r\n"))
            self.assertEqual(server.process.wait(), 0)


if __name__ == "__main__":
    unittest.main()
