"""The server as a client made with grpc++ sees it, independent of our own gRPC."""

import json
import os
import signal
import subprocess
import unittest

from support.certificates import Authority, tls_flags
from support.environment import TIMEOUT, wait_until
from support.ports import free_port
from support.redis_servers import RedisServer
from support.sluice import ServerTest

OK, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, UNIMPLEMENTED = 0, 4, 8, 12  # Statuses of gRPC.
CALL = "envoy.service.ratelimit.v3.RateLimitService"

# Windows of a year: none ends while a test runs.
LIMITS = """
domain: shop
descriptors:
  - key: user
    rate_limit: { unit: year, requests_per_unit: 500 }
  - key: user
    value: free
    rate_limit: { unit: year, requests_per_unit: 1000000, name: generous }
  - key: few
    rate_limit: { unit: year, requests_per_unit: 2 }
"""


def allowed_calls(server):
    return server.metric("rate_limiter_calls_total", protocol="grpc", outcome="allowed")


def question(key, value, **more):
    """`more` goes into the descriptor."""
    return json.dumps({"domain": "shop", "descriptors": [{"entries": [{"key": key, "value": value}], **more}]})


def command(port, *arguments):
    return [os.environ["GRPC_CLIENT"], f"127.0.0.1:{port}", *map(str, arguments)]


def ask(port, *arguments):
    """What the client prints, line by line."""
    completed = subprocess.run(command(port, *arguments), capture_output=True, text=True, timeout=2 * TIMEOUT, check=False)
    if completed.returncode != 0:
        raise AssertionError(completed.stderr)
    return [json.loads(line) for line in completed.stdout.splitlines()]


def codes(answers):
    return [answer["response"]["overallCode"] if answer["response"] else answer["status"] for answer in answers]


class Client:
    """A client that runs in the background."""

    def __init__(self, port, *arguments):
        self.process = subprocess.Popen(
            command(port, *arguments), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def line(self):
        return json.loads(self.process.stdout.readline())

    def end(self):
        """Its last line."""
        output, _ = self.process.communicate(timeout=TIMEOUT)
        return json.loads(output.splitlines()[-1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class GrpcTest(ServerTest):
    def setUp(self):
        (self.folder / "limits").mkdir()
        (self.folder / "limits/shop.yaml").write_text(LIMITS, encoding="utf-8")

    def start(self, *flags, **more):
        return self.serve("--envoy-config", self.folder / "limits", *flags, **more)

    def test_calls_pass_until_their_limit_is_reached(self):
        server = self.start()
        answers = ask(server.grpc, "ask", 3, question("few", "a"))
        self.assertEqual(codes(answers), ["OK", "OK", "OVER_LIMIT"])
        (status,) = answers[0]["response"]["statuses"]
        self.assertEqual(status["currentLimit"], {"requestsPerUnit": 2, "unit": "YEAR"})
        self.assertEqual(status["limitRemaining"], 1)
        self.assertRegex(status["durationUntilReset"], r"^\d+(\.\d+)?s$")
        self.assertEqual(codes(ask(server.grpc, "ask", 1, question("few", "b"))), ["OK"])
        self.assertEqual(codes(ask(server.grpc, "ask", 1, question("elsewhere", "b"))), ["OK"])

    def test_a_request_says_how_much_and_may_bring_its_own_limit(self):
        server = self.start()

        def left(**more):
            (answer,) = ask(server.grpc, "ask", 1, question("user", "a", **more))
            return answer["response"]["statuses"][0].get("limitRemaining", 0)

        self.assertEqual([left(hitsAddend=10), left(hitsAddend=0), left()], [490, 490, 489])
        self.assertEqual([left(hitsAddend=9, isNegativeHits=True), left(hitsAddend=0)], [498, 498])
        own = question("user", "b", limit={"requestsPerUnit": 1, "unit": "MONTH"})
        self.assertEqual(codes(ask(server.grpc, "ask", 2, own)), ["OK", "OVER_LIMIT"])

    def test_invalid_requests_are_refused(self):
        server = self.start()
        (answer,) = ask(server.grpc, "ask", 1, json.dumps({"descriptors": [{"entries": [{"key": "a"}]}]}))
        self.assertNotEqual(answer["status"], OK)
        self.assertEqual(answer["message"], "rate limit domain must not be empty")
        (answer,) = ask(server.grpc, "ask", 1, json.dumps({"domain": "shop"}))
        self.assertNotEqual(answer["status"], OK)
        self.assertEqual(answer["message"], "rate limit descriptor list must not be empty")
        for path in (f"/{CALL}/Nothing", "/no.Service/Call"):
            (answer,) = ask(server.grpc, "unknown", path)
            self.assertEqual(answer["status"], UNIMPLEMENTED)

    def test_a_thousand_calls_at_once_take_what_there_is_and_no_more(self):
        server = self.start()
        self.assertEqual(ask(server.grpc, "many", 1000, question("user", "a")), [{"OK": 500, "OVER_LIMIT": 500}])

    def test_a_limit_of_streams_lets_calls_wait_and_not_fail(self):
        server = self.start("--grpc-max-streams", "10")
        self.assertEqual(ask(server.grpc, "many", 1000, question("user", "a")), [{"OK": 500, "OVER_LIMIT": 500}])

    def test_compressed_calls_are_read(self):
        server = self.start()
        path = self.folder / "big.json"
        path.write_text(question("few", "a" * 4_000), encoding="utf-8")
        self.assertEqual(codes(ask(server.grpc, "--gzip", "ask", 3, f"@{path}")), ["OK", "OK", "OVER_LIMIT"])

    def test_big_messages_are_read_and_too_big_ones_refused(self):
        server = self.start("--grpc-max-message-bytes", "1048576")
        path = self.folder / "big.json"
        entries = [{"key": "k" * 500, "value": "v" * 500}] * 10
        request = {"domain": "shop", "descriptors": [{"entries": entries}] * 90}
        path.write_text(json.dumps(request), encoding="utf-8")
        answers = ask(server.grpc, "ask", 3, f"@{path}")
        self.assertEqual(codes(answers), ["OK"] * 3)
        self.assertEqual(len(answers[0]["response"]["statuses"]), 90)
        request["descriptors"] *= 2
        path.write_text(json.dumps(request), encoding="utf-8")
        for compression in ((), ("--gzip",)):
            self.assertEqual(codes(ask(server.grpc, *compression, "ask", 2, f"@{path}")), [RESOURCE_EXHAUSTED] * 2)
        self.assertEqual(codes(ask(server.grpc, "ask", 1, question("few", "a"))), ["OK"])

    def test_a_call_is_answered_before_its_deadline_while_redis_is_silent(self):
        with RedisServer() as redis:
            server = self.start(store=redis.url, store_deadline="50ms")
            self.assertEqual(codes(ask(server.grpc, "ask", 1, question("few", "a"))), ["OK"])
            redis.pause()
            answers = ask(server.grpc, "--deadline-ms", TIMEOUT * 1000, "ask", 5, question("few", "a"))
            self.assertEqual(codes(answers), ["OK"] * 5)
            hasty = set(codes(ask(server.grpc, "--deadline-ms", 1, "ask", 20, question("few", "a"))))
            self.assertLessEqual(hasty, {"OK", DEADLINE_EXCEEDED})
            redis.resume()
            wait_until(lambda: "OVER_LIMIT" in codes(ask(server.grpc, "ask", 3, question("few", "b"))))

    def test_connections_grow_old_and_no_call_fails(self):
        server = self.start("--grpc-max-connection-age", "200ms")
        with Client(server.grpc, "load", question("user", "free")) as client:
            client.line()
            wait_until(lambda: server.metric("rate_limiter_connections_accepted_total", protocol="grpc") >= 4)
            self.assertEqual(list(client.end()), ["OK"])

    def test_a_server_that_is_replaced_under_load_fails_no_call(self):
        server = self.start(grpc_port=free_port())
        with Client(server.grpc, "load", question("user", "free")) as client:
            client.line()
            for _ in range(3):
                self.assertEqual(server.stop(), 0)
                server = self.start(grpc_port=server.grpc)
                wait_until(lambda: allowed_calls(server) > 100)
            self.assertEqual(list(client.end()), ["OK"])

    def test_health_is_checked_and_watched(self):
        server = self.start()
        for service in ("", CALL):
            self.assertEqual(ask(server.grpc, "health", service)[0]["response"], {"status": "SERVING"})
        self.assertEqual(ask(server.grpc, "health", "no.Service")[0]["status"], 5)
        with Client(server.grpc, "watch", CALL) as watch, Client(server.grpc, "watch", "no.Service") as other:
            self.assertEqual(watch.line()["status"], "SERVING")
            self.assertEqual(other.line()["status"], "SERVICE_UNKNOWN")
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(watch.line()["status"], "NOT_SERVING")
        self.assertEqual(server.wait(), 0)

    def test_reflection_lists_services_and_files(self):
        server = self.start()
        for version in ("v1", "v1alpha"):
            lines = ask(server.grpc, "reflect", version, CALL)
            self.assertEqual(lines.pop()["status"], OK)
            for name in (
                CALL,
                "grpc.health.v1.Health",
                f"grpc.reflection.{version}.ServerReflection",
                f"{CALL}/ShouldRateLimit",
                "envoy.service.ratelimit.v3.RateLimitRequest",
                "envoy.extensions.common.ratelimit.v3.RateLimitDescriptor",
            ):
                self.assertIn(name, lines)
            lines = ask(server.grpc, "reflect", version, "no.Symbol")
            self.assertEqual(lines[-2]["errorCode"], 5)

    def test_tls_is_spoken(self):
        authority = Authority(self.folder)
        server = self.start(*tls_flags(*authority.issue("server"), "grpc"))
        answers = ask(server.grpcs, "--ca", authority.certificate, "ask", 3, question("few", "a"))
        self.assertEqual(codes(answers), ["OK", "OK", "OVER_LIMIT"])
        answers = ask(server.grpcs, "--ca", authority.certificate, "many", 200, question("user", "a"))
        self.assertEqual(answers, [{"OK": 200}])


if __name__ == "__main__":
    unittest.main()
