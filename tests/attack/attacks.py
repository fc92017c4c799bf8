"""The attacks. Each starts a server, names the path of the good client, attacks for so many seconds and returns
how many calls passed over a limit (None: the attack does not aim at a limit)."""

import contextlib
import gzip
import re
import socket
import tempfile
import time
from pathlib import Path

from support.certificates import Authority, client_hello, tls_flags
from support.environment import run_in_parallel, wait_until
from support.files import write_rules
from support.http2 import (
    DATA,
    END_STREAM,
    NO_WINDOW,
    PREFACE,
    frame,
    grpc_call,
    grpc_headers,
    grpc_message,
    reflection_request,
)
from support.redis_servers import RedisServer
from support.resp import read_reply
from support.sluice import Server
from support.tcp_proxy import TcpProxy

from measure import flood, result_of

LIMIT = 5
RULES = f"""
rules:
  - {{ id: victim, match: {{ api_key: "victim*" }}, per: [api_key], algorithm: fixed_window, window: 1d, limit: {LIMIT} }}
  - {{ id: host, match: {{ host: api.example.com }}, per: [ip], algorithm: fixed_window, window: 1d, limit: {LIMIT} }}
  - {{ id: path, match: {{ endpoint: "/login*" }}, per: [ip], algorithm: fixed_window, window: 1d, limit: {LIMIT} }}
  - {{ id: jobs, match: {{ endpoint: /jobs }}, per: [api_key], algorithm: concurrency, limit: 300000, ttl: 1h }}
"""


class Attack:
    """What all have in common: a server on the rules above."""

    flags = ()
    redis = False
    redis_delay = 0.0
    store_deadline = "50ms"
    reconnect = False  # The good client connects anew for each request.
    good_path = "/api/v1/rate-limit/check?key=good&algorithm=TOKEN_BUCKET"

    def __init__(self):
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        flags = ["--rules", write_rules(folder, RULES), *self.flags]
        store = None
        if self.redis:
            port = self.stack.enter_context(RedisServer()).port
            if self.redis_delay:
                proxy = self.stack.enter_context(TcpProxy(port))
                proxy.delay = self.redis_delay
                port = proxy.port
            store = f"redis://127.0.0.1:{port}"
        self.prepare(folder, flags)
        self.server = self.stack.enter_context(Server(*flags, store=store, store_deadline=self.store_deadline))
        self.begin()
        return self

    def __exit__(self, *arguments):
        self.stack.close()

    def prepare(self, folder, flags):
        """May add flags."""

    def begin(self):
        """Before anything is measured."""

    def run(self, seconds):
        raise NotImplementedError

    def until_over(self, seconds, step):
        """Repeats a step; returns how often it was done."""
        end, count = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            step(count)
            count += 1
        return count

    def use_up(self, key):
        """Returns when the server knows that the key is denied."""
        wait_until(lambda: self.server.check(key).status == 429)

    def connections(self, port, count):
        return [self.stack.enter_context(self.server.connect(port)) for _ in range(count)]


def get(path, *headers):
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: api.test", *headers, "", ""]).encode()


def forwarded(uri="/", host="api.test"):
    """Headers of a proxy that describe the call to check."""
    return {"X-Forwarded-Method": "GET", "X-Forwarded-Uri": uri, "X-Forwarded-Host": host}


def passed_over(statuses):
    return max(0, sum(200 <= status < 300 for status in statuses) - LIMIT)


class ShortTimeouts(Attack):
    """X-Request-Timeout-Ms: 1, as a proxy that passes client headers on would send it, with Redis 2 ms away"""

    redis, redis_delay = True, 0.001
    store_deadline = "30s"  # Only the header could be too short, also on a busy machine.

    def run(self, seconds):
        headers = {**forwarded(), "X-API-Key": "victim", "X-Request-Timeout-Ms": "1"}
        request = get("/v1/auth", *(f"{name}: {value}" for name, value in headers.items()))
        (passed,) = result_of(flood(self.server.http, 4, request, seconds, (b"HTTP/1.1 200",)))
        return max(0, passed - LIMIT)


class PipelinedFlood(Attack):
    """200 connections, 64 requests deep, one key over its limit, Redis on loopback"""

    redis = True

    def begin(self):
        self.use_up("victim")

    def run(self, seconds):
        request = get("/api/v1/rate-limit/check?key=victim") * 64
        (passed,) = result_of(flood(self.server.http, 200, request, seconds, (b"HTTP/1.1 200",)))
        return passed


class PipelinedTimeouts(Attack):
    """50 connections, 16 requests deep, X-Request-Timeout-Ms: 1, one key over its limit, Redis on loopback"""

    redis = True

    def begin(self):
        self.use_up("victim")

    def run(self, seconds):
        request = get("/api/v1/rate-limit/check?key=victim", "X-Request-Timeout-Ms: 1") * 16
        (passed,) = result_of(flood(self.server.http, 50, request, seconds, (b"HTTP/1.1 200",)))
        return passed


class UnreadReflection(Attack):
    """gRPC: 1000 reflection streams with a window of zero on each of 4 connections"""

    def run(self, seconds):
        path = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
        requests = [reflection_request("envoy.service.ratelimit.v3.RateLimitService")] * 200
        clients = self.connections(self.server.grpc, 4)
        for client in clients:
            client.settimeout(seconds)
            with contextlib.suppress(OSError):
                client.sendall(PREFACE + NO_WINDOW)
                for stream in range(1, 2000, 2):
                    client.sendall(grpc_call(stream, path, *requests, flags=0))
        time.sleep(seconds / 2)
        for client in clients:
            client.close()


class GzipBomb(Attack):
    """gRPC: 1 KB of gzip that inflates to 1 MiB of unknown fields, 16 calls deep"""

    def run(self, seconds):
        message = grpc_message(gzip.compress(b"\xf8\x3f\x01" * (((1 << 20) - 64) // 3), 9), compressed=True)
        path = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with contextlib.suppress(OSError), self.server.connect(self.server.grpc) as client:
                client.settimeout(0.2)
                client.sendall(PREFACE)
                for stream in range(1, 400, 2):
                    client.sendall(grpc_headers(stream, path, grpc_encoding="gzip") + frame(DATA, END_STREAM, stream, message))
                    client.recv(65536)


class MetricsFlood(Attack):
    """pipelined GET /metrics beside 1000 idle connections"""

    reconnect = True

    def begin(self):
        self.idle = self.connections(self.server.http, 1000)

    def run(self, seconds):
        result_of(flood(self.server.http, 4, get("/metrics") * 500, seconds))


class KeyTable(Attack):
    """CL.THROTTLE with new keys that refill in 31 days, until the table is full; then a new caller of a rule"""

    flags = ("--memory-max-keys", "100000")

    def run(self, seconds):
        end, number = time.monotonic() + seconds, 0
        with self.server.connect(self.server.resp) as client, client.makefile("rb") as answers:
            while time.monotonic() < end and number < 200_000:
                batch = "".join(f"CL.THROTTLE k{number + i} 0 1 {31 * 86400}\r\n" for i in range(1000))
                client.sendall(batch.encode())
                number += 1000
                for _ in range(1000):
                    read_reply(answers)
        passed = passed_over([self.server.check("victim-new")[0] for _ in range(50)])
        self.note = f"{self.server.metric('rate_limiter_request_keys'):.0f} keys made"
        return passed


class SlotScan(Attack):
    """100 000 slots held in Redis; release and renew of slots that are not held"""

    redis = True
    slots = 100_000

    def begin(self):
        request = get("/api/v1/rate-limit/check?key=jobs&endpoint=/jobs") * 64
        taken = 0
        while taken < self.slots:
            (passed,) = result_of(flood(self.server.http, 16, request, 1, (b"HTTP/1.1 200",)))
            if passed == 0:
                break
            taken += passed

    def run(self, seconds):
        def body(number):
            return {"attributes": {"api_key": "jobs", "endpoint": "/jobs"}, "slot": f"{number:016x}"}

        paths = ("/api/v1/rate-limit/release", "/api/v1/rate-limit/renew", "/api/v1/rate-limit/acquire")
        self.until_over(seconds, lambda n: self.server.request("POST", paths[n % 3], body(n + 1)))


class SilentSockets(Attack):
    """connections that say nothing, more than limits.connections, from a trusted address; the good client asks /livez"""

    flags = ("--limits-connections", "500")
    reconnect = True
    good_path = "/livez"

    def run(self, seconds):
        clients = []

        def open_one(_):
            with contextlib.suppress(OSError):
                clients.append(socket.create_connection(("127.0.0.1", self.server.http), 1))
            if len(clients) > 900:
                clients.pop(0).close()
            time.sleep(0.001)

        self.until_over(seconds, open_one)
        for client in clients:
            client.close()


class SlowHeaders(Attack):
    """400 connections that send a header a byte at a time"""

    flags = ("--limits-connections", "500", "--limits-request-timeout", "2s")
    reconnect = True

    def run(self, seconds):
        clients = []
        for _ in range(400):
            with contextlib.suppress(OSError):
                clients.append(socket.create_connection(("127.0.0.1", self.server.http), 1))
                clients[-1].sendall(b"GET / HTTP/1.1\r\nX-")

        def drip(_):
            for client in clients:
                with contextlib.suppress(OSError):
                    client.send(b"a")
            time.sleep(0.1)

        self.until_over(seconds, drip)
        for client in clients:
            client.close()


class UnfinishedHandshakes(Attack):
    """TLS: a ClientHello, then nothing, as many as possible"""

    def prepare(self, folder, flags):
        flags += tls_flags(*Authority(folder).issue("server"), "http")

    def begin(self):
        self.hello = client_hello()

    def run(self, seconds):
        def hello(_):
            with contextlib.suppress(OSError), self.server.connect(self.server.https) as client:
                client.sendall(self.hello)

        run_in_parallel(self.until_over, *[(seconds, hello)] * 4)


class TokenGuesses(Attack):
    """AUTH with made-up tokens, 64 deep"""

    flags = ("--admin-token", "a-token-that-is-hard-to-guess-0123456789")

    def run(self, seconds):
        result_of(flood(self.server.resp, 4, b"AUTH guess-0123456789abcdef\r\n" * 64, seconds))


class ReceiptReplay(Attack):
    """one receipt canceled again and again, to get calls back that were never taken"""

    def run(self, seconds):
        check = {"attributes": {"api_key": "victim"}}
        first = self.server.request("POST", "/api/v1/rate-limit/check", check)
        statuses = [first.status]
        receipt = {"receipt": first.json()["receipt"]}
        for _ in range(20):
            self.server.request("POST", "/api/v1/rate-limit/cancel", receipt)
            statuses.append(self.server.request("POST", "/api/v1/rate-limit/check", check)[0])
        # The one cancellation gave one call back.
        return max(0, passed_over(statuses) - 1)


class HugeSettlement(Attack):
    """a settlement of 2^53: how long the victim is locked out beyond its window"""

    def run(self, seconds):
        limit = {"algorithm": "token_bucket", "capacity": 10, "refill_rate": 1}
        check = {"key": "victim", "limit": limit}
        receipt = self.server.request("POST", "/api/v1/rate-limit/check", check).json()["receipt"]
        self.server.request("POST", "/api/v1/rate-limit/settle", {"receipt": receipt, "cost": 2**53})
        answer = self.server.request("POST", "/api/v1/rate-limit/check", check).json()
        self.note = f"locked out for {answer['retryAfterSeconds']} s"
        # Four times the capacity is charged at most.
        if answer["retryAfterSeconds"] > 4 * limit["capacity"] / limit["refill_rate"] + 1:
            raise AssertionError(self.note)


class NegativeHits(Attack):
    """CL.THROTTLE with a negative quantity, which gives a budget back"""

    def run(self, seconds):
        passed = 0
        for _ in range(50):
            self.server.redis_cli("CL.THROTTLE", "victim", str(LIMIT - 1), "1", "86400", "-1")
            passed += self.server.redis_cli("CL.THROTTLE", "victim", str(LIMIT - 1), "1", "86400")[:1] == ["0"]
        return max(0, passed - LIMIT)


class HostSpelling(Attack):
    """the limited host in other spellings: case, port, trailing dot"""

    def run(self, seconds):
        hosts = ("api.example.com", "API.example.com", "api.example.com:443", "api.example.com.", "Api.Example.COM.:80")
        return passed_over(
            [self.server.request("GET", "/v1/auth", None, forwarded(host=host))[0]
             for host in hosts for _ in range(LIMIT)]
        )  # fmt: skip


class EscapedPath(Attack):
    """the limited path with %3F and %23 in it"""

    def run(self, seconds):
        paths = ("/login", "/login%3Fx", "/login%23x", "/login%3fy", "/%6Cogin%3F")
        return passed_over(
            [self.server.request("GET", "/v1/auth", None, forwarded(path))[0] for path in paths for _ in range(LIMIT)]
        )


class UnreadAnswers(Attack):
    """100 HTTP connections that ask for a large document and read nothing"""

    def run(self, seconds):
        clients = self.connections(self.server.http, 100)
        for client in clients:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.setblocking(False)
        request = get("/openapi.json") * 200

        def send(_):
            for client in clients:
                with contextlib.suppress(OSError):
                    client.send(request)
            time.sleep(0.05)

        self.until_over(seconds, send)
        for client in clients:
            client.close()


ATTACKS = (
    ShortTimeouts,
    PipelinedTimeouts,
    PipelinedFlood,
    UnreadReflection,
    UnreadAnswers,
    GzipBomb,
    MetricsFlood,
    KeyTable,
    SlotScan,
    SilentSockets,
    SlowHeaders,
    UnfinishedHandshakes,
    TokenGuesses,
    ReceiptReplay,
    HugeSettlement,
    NegativeHits,
    HostSpelling,
    EscapedPath,
)


def name_of(attack):
    """ShortTimeouts → short_timeouts"""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", attack.__name__).lower()
