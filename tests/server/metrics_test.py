"""Metrics of the server named by SLUICE: documents, dashboard and alerts name what pages have, and every value of a label moves."""

import contextlib
import gzip
import importlib.util
import json
import re
import shutil
import socket
import ssl
import subprocess
import threading
import unittest
from pathlib import Path

from support import http1, http2, metrics, otlp, resp
from support.certificates import Authority, tls_flags
from support.environment import TIMEOUT, wait_until
from support.files import replace_file
from support.redis_servers import RedisServer
from support.sluice import ServerTest, run_sluice
from support.sockets import receive_all, receive_until, reset

ROOT = Path(__file__).resolve().parents[2]
DASHBOARD = ROOT / "deploy/grafana/sluice.json"
DOCUMENT = (ROOT / "docs/metrics.md").read_text(encoding="utf-8")
FROM_CONFIGURATION = {"rule", "limit", "version", "hash", "revision", "compiler", "le"}

FOREVER = "algorithm: fixed_window, window: 30d"
RULES = f"""
allow: [vip]
deny: [bad]
rules:
  - {{ id: token, match: {{ api_key: "a-*" }}, algorithm: token_bucket, capacity: 1, refill_rate: 1 per day }}
  - {{ id: leaky, match: {{ api_key: "b-*" }}, algorithm: leaky_bucket, capacity: 1, leak_rate: 1 per day }}
  - {{ id: fixed, match: {{ api_key: "c-*" }}, {FOREVER}, limit: 1 }}
  - {{ id: log, match: {{ api_key: "d-*" }}, algorithm: sliding_window_log, limit: 1, window: 1d }}
  - {{ id: counter, match: {{ api_key: "e-*" }}, algorithm: sliding_window_counter, limit: 1, window: 1d }}
  - {{ id: slots, match: {{ api_key: "f-*" }}, algorithm: concurrency, limit: 1, ttl: 1h }}
  - id: llm
    match: {{ api_key: "llm-*" }}
    per: api_key
    limits:
      - {{ name: rpm, {FOREVER}, limit: 1 }}
      - {{ name: tpm, {FOREVER}, limit: 100 }}
  - {{ id: new, match: {{ api_key: "new-*" }}, {FOREVER}, limit: 2, rollout: {{ percent: 100, from: {{ {FOREVER}, limit: 1 }} }} }}
  - {{ id: old, match: {{ api_key: "old-*" }}, {FOREVER}, limit: 2, rollout: {{ percent: 0, from: {{ {FOREVER}, limit: 1 }} }} }}
  - {{ id: bytes, match: {{ api_key: "bytes-*" }}, limit: 9/d, cost: {{ attribute: bytes }} }}
  - {{ id: shadow, match: {{ api_key: "shadow-*" }}, {FOREVER}, limit: 1, shadow: true }}
"""
FAILING = f"""
rules:
  - {{ id: open, match: {{ api_key: open }}, {FOREVER}, limit: 9 }}
  - {{ id: closed, match: {{ api_key: closed }}, {FOREVER}, limit: 9, on_store_failure: closed }}
  - {{ id: local, match: {{ api_key: local }}, {FOREVER}, limit: 9, on_store_failure: local }}
  - {{ id: leased, match: {{ api_key: leased }}, capacity: 100, refill_rate: 1 per day, consistency: leased,
      rollout: {{ percent: 100, from: 90 per day }} }}
"""
FULL = f"""
rules:
  - {{ id: fill, match: {{ api_key: "held*" }}, {FOREVER}, limit: 5, per: [api_key] }}
  - {{ id: closed, match: {{ api_key: "c*" }}, {FOREVER}, limit: 5, per: [api_key], when_full: closed }}
  - {{ id: open, match: {{ api_key: "o*" }}, {FOREVER}, limit: 5, per: [api_key], when_full: open }}
  - {{ id: shared, match: {{ api_key: "s*" }}, {FOREVER}, limit: 5, per: [api_key], when_full: shared }}
"""
ENVOY = "domain: edge\ndescriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 1 } }]\n"
LARGE_ANSWER = b"GET /openapi.json HTTP/1.1\r\nHost: h\r\n\r\n"
HEALTH = "/grpc.health.v1.Health/Check"


# The part of Grafana's dashboard model that a panel needs to be drawn.
PLACE = {name: {"type": "integer", "minimum": 0} for name in ("x", "y", "w", "h")}
PANEL_SCHEMA = {
    "type": "object",
    "required": ["type", "id", "title", "gridPos"],
    "properties": {
        "type": {"enum": ["row", "stat", "timeseries"]},
        "id": {"type": "integer", "minimum": 1},
        "title": {"type": "string", "minLength": 1},
        "gridPos": {"type": "object", "required": list(PLACE), "properties": PLACE, "additionalProperties": False},
    },
    "if": {"properties": {"type": {"enum": ["stat", "timeseries"]}}},
    "then": {
        "required": ["datasource", "targets", "fieldConfig", "options"],
        "properties": {
            "targets": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "required": ["refId", "expr", "datasource"],
                    "properties": {
                        "refId": {"type": "string", "pattern": "^[A-Z]$"},
                        "expr": {"type": "string", "pattern": r"\$job.*\$instance"},
                        "datasource": {"const": {"type": "prometheus", "uid": "${datasource}"}},
                    },
                },
            },
        },
    },
}
DASHBOARD_SCHEMA = {
    "type": "object",
    "required": ["title", "uid", "schemaVersion", "templating", "panels", "time"],
    "properties": {
        "uid": {"type": "string", "maxLength": 40},
        "schemaVersion": {"type": "integer", "minimum": 36},
        "panels": {"type": "array", "items": PANEL_SCHEMA},
    },
}


def dashboard_panels():
    return json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]


def documented_metrics():
    """Type and labels of each metric."""
    rows = re.findall(r"^\| `([a-z0-9_]+)` \| (\w+) \| ([^|]+) \| [^|]+\|$", DOCUMENT, re.MULTILINE)
    return {name: (kind, frozenset(re.findall("`([a-z_]+)`", labels))) for name, kind, labels in rows}


def documented_values():
    """(label, metric or None for all) → the values."""
    rows = re.findall(r"^\| `([a-z_]+)` \| (?:`([a-z0-9_]+)`|all) \| ([^|]+) \|$", DOCUMENT, re.MULTILINE)
    return {(label, metric or None): set(re.findall("`([a-z0-9_.]+)`", values)) for label, metric, values in rows}


class Pages:
    """What all pages together have."""

    def __init__(self):
        self.types = {}
        self.labels = {}
        self.values = {}  # (label, metric or None) → value → the largest number seen.
        self.samples = set()

    def add(self, page):
        for name, kind in re.findall(r"^# TYPE (\w+) (\w+)$", page, re.MULTILINE):
            self.types[name] = kind
        for name, labels, number in metrics.parse(page):
            self.samples.add(name)
            family = name if name in self.types else re.sub("_(bucket|sum|count)$", "", name)
            self.labels.setdefault(family, set()).update(labels.keys() - {"le"})
            for label in labels.keys() - FROM_CONFIGURATION:
                for key in ((label, family), (label, None)):
                    seen = self.values.setdefault(key, {})
                    seen[labels[label]] = max(number, seen.get(labels[label], 0))


class Metrics(ServerTest):
    maxDiff = None

    def setUp(self):
        self.pages = Pages()

    def read(self, server):
        self.pages.add(server.request("GET", "/metrics").text)

    def check_limits(self, server, key, **more):
        return server.request("POST", "/api/v1/rate-limit/check", {"key": key, **more}).status

    # ---- Each provokes some values; together, all of them.

    def provoke_outcomes(self):
        server = self.serve(rules=RULES)
        for letter in "abcdef":
            self.assertEqual([server.check(f"{letter}-1").status for _ in range(2)], [200, 429], letter)
        self.assertEqual([server.check("new-1").status for _ in range(3)], [200, 200, 429])
        self.assertEqual([server.check("old-1").status for _ in range(3)], [200, 429, 429])
        for _ in range(70):  # One call in 61 is timed.
            server.check("a-1")
        self.assertEqual(server.check("vip").status, 200)
        self.assertEqual(server.check("bad").status, 403)
        self.assertEqual(server.check("unknown").status, 200)
        attributes = {"api_key": "bytes-1", "bytes": "many"}
        self.assertEqual(server.request("POST", "/api/v1/rate-limit/check", {"attributes": attributes}).status, 400)
        self.assertEqual(resp.call(server.resp, "SLUICE.CHECK", "api_key", "a-2")[0], "1")
        with contextlib.closing(server.connect(server.grpc)) as connection:
            client = http2.Http2Client(connection)
            # RateLimitRequest{domain: "sluice"}: a call of Envoy's without a descriptor.
            client.send(http2.grpc_call(1, "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit", b"\x0a\x06sluice"))
            client.read_until(http2.HEADERS, http2.END_STREAM)
        self.read(server)

    def provoke_entries(self):
        server = self.serve("--state-dir", self.folder / "entries", rules=RULES)
        effects = {
            "block": "block", "allow": "allow", "unlimited": "unlimited", "limit": {"limit": 2}, "multiply": {"multiply": 2}
        }  # fmt: skip
        for name, effect in effects.items():
            entry = {"match": {"api_key": f"c-{name}"}, "effect": effect}
            self.assertEqual(server.request("PUT", f"/admin/v1/entries/{name}", entry).status, 200)
            server.check(f"c-{name}")
        for name, match in (("cidr", {"ip": "10.0.0.0/8"}), ("glob", {"api_key": {"glob": "x*"}})):
            entry = {"match": match, "effect": "allow"}
            self.assertEqual(server.request("PUT", f"/admin/v1/entries/{name}", entry).status, 200)
        self.read(server)

    def provoke_penalties(self):
        penalty = "penalty: { after: { denials: 2, within: 1h }, steps: 1h"
        rules = f"""rules:
  - {{ id: blocking, match: {{ api_key: bad }}, limit: 1/day, {penalty} }} }}
  - {{ id: reporting, match: {{ api_key: odd }}, limit: 1/day, {penalty}, shadow: true }} }}
"""
        server = self.serve("--state-dir", self.folder / "penalties", rules=rules)
        for key, mode in (("bad", "enforced"), ("odd", "shadow")):

            def is_penalized(key=key, mode=mode):
                server.check(key)
                return server.metric("rate_limiter_penalized_calls_total", mode=mode) > 0

            wait_until(is_penalized)
        self.read(server)

    def provoke_admin_listener(self):
        server = self.serve("--admin", "127.0.0.1:0", rules=RULES)
        for _ in range(2):  # The second page has the connection of the first.
            self.pages.add(http1.request(server.admin, "GET", "/metrics").text)

    def provoke_modes(self):
        server = self.serve("--log-level", "debug", rules=RULES)
        for mode in ("shadow", "off", "on"):
            body = {"enforcement": mode}
            self.assertEqual(server.request("PUT", "/admin/enforcement", body).status, 200)
            self.read(server)

    def provoke_failures_of_redis(self):
        with RedisServer() as redis:
            server = self.serve("--log-level", "debug", store=redis.url, store_deadline="300ms", rules=FAILING)
            self.assertEqual(server.check("open").status, 200)
            for _ in range(120):
                server.check("leased")
            self.read(server)
            (key,) = [key for key in redis.send("KEYS", "*") if "open" in key]
            redis.send("DEL", key)
            redis.send("SET", key, "nonsense")
            server.check("open")
            self.read(server)
            redis.send("DEL", key)
            redis.send("CONFIG", "SET", "maxmemory", "1")
            for _ in range(3):
                server.check("open")
            redis.send("CONFIG", "SET", "maxmemory", "0")
            redis.pause()  # A probe waits for its reply, and its breaker is half open.
            found = threading.Event()

            def ask_on():
                while not found.is_set():
                    for key in ("open", "closed", "local"):
                        server.check(key)

            asking = threading.Thread(target=ask_on)
            asking.start()

            def states():
                self.read(server)
                seen = self.pages.values[("state", "rate_limiter_redis_breaker_state")]
                return seen["open"] and seen["half_open"]

            try:
                wait_until(states, "a breaker is half open")
            finally:
                found.set()
                asking.join()
            redis.kill()
            self.assertEqual(server.check("closed").status, 503)
            self.read(server)

    def provoke_a_full_store(self):
        server = self.serve("--memory-max-keys", "20", rules=FULL)
        for i in range(20):
            server.check(f"held{i}")
        for key in ("c", "o", "s"):
            server.check(key)
        limit = {"algorithm": "fixed_window", "limit": 1, "window": 60}
        for i in range(20):
            self.check_limits(server, f"own{i}", limit=limit)
        self.read(server)

    def provoke_refused_connections(self):
        def crowd(server, count, address="127.0.0.1"):
            clients = []
            for _ in range(count):
                client = socket.create_connection(("127.0.0.1", server.resp), TIMEOUT, (address, 0))
                clients.append(self.enterContext(client))
            return clients

        server = self.serve("--limits-connections", "4", "--limits-reserved-connections", "2", "--limits-request-timeout", "1s")
        for client in crowd(server, 4):
            client.sendall(b"PING\r\n")
            receive_until(client, b"\r\n")
        receive_all(crowd(server, 1)[0])
        self.read(server)
        one_address = self.serve("--limits-connections-per-address", "3", "--identity-trusted-proxies", "none")
        crowd(one_address, 6, "127.0.0.2")
        wait_until(lambda: one_address.metric("rate_limiter_connections_refused_total", reason="max_per_address") > 0)
        self.read(one_address)
        few_files = self.serve(files=40)
        # UBSan checks the first object of a type through a pipe, for which there would be no descriptor.
        first = crowd(few_files, 1)[0]
        first.sendall(b"PING\r\n")
        receive_until(first, b"\r\n")
        few_files.metric("rate_limiter_connections_refused_total")
        clients = crowd(few_files, 60)
        with contextlib.suppress(OSError):
            clients[-1].recv(100)
        for client in clients:
            reset(client)
        wait_until(lambda: few_files.metric("rate_limiter_connections_refused_total", reason="no_descriptors") > 0)
        self.read(few_files)

    def provoke_exceeded_bounds(self):
        server = self.serve(
            "--limits-request-timeout", "300ms", "--limits-idle-timeout", "600ms", "--limits-output-bytes", "65536",
            "--limits-connections", "6", "--http-proxy-protocol", "true", "--resp-proxy-protocol", "true",
        )  # fmt: skip

        def send(port, data, first=b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n"):
            client = self.enterContext(server.connect(port))
            with contextlib.suppress(ConnectionError):
                client.sendall(first + data)
            return client

        def broken(bound):
            with server.connect(server.http) as client:
                client.sendall(b"PROXY UNKNOWN\r\nGET /metrics HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
                page = receive_all(client).partition(b"\r\n\r\n")[2].decode()
            if not page.startswith("# "):
                return False
            self.pages.add(page)
            return metrics.total(page, "rate_limiter_bounds_exceeded_total", bound=bound) > 0

        head = b"POST /api/v1/rate-limit/check HTTP/1.1\r\nHost: h\r\n"
        receive_all(send(server.http, head + b"X: " + b"x" * 70000 + b"\r\n\r\n"))
        wait_until(lambda: broken("header_size"))
        receive_all(send(server.http, head + b"Content-Length: 99999999\r\n\r\n"))
        wait_until(lambda: broken("body_size"))
        receive_all(send(server.http, head + b"Content-Length: 10\r\n\r\n{"))
        wait_until(lambda: broken("slow_request"))
        idle = send(server.resp, b"PING\r\n")
        receive_all(idle)
        wait_until(lambda: broken("idle"))
        receive_all(send(server.http, LARGE_ANSWER * 1000))
        deaf = send(server.http, b"")
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        with contextlib.suppress(ConnectionError):
            deaf.sendall(LARGE_ANSWER * 1000)
        wait_until(lambda: broken("output_buffer"))
        receive_all(send(server.http, b"GET / HTTP/1.1\r\n\r\n", first=b""))  # No PROXY protocol.
        silent = [send(server.resp, b"", first=b"PROXY UNKNOWN\r\n") for _ in range(4)]
        wait_until(lambda: broken("silent"))
        self.assertEqual(len(silent), 4)

    def provoke_a_shortage_of_memory(self):
        server = self.serve("--limits-memory", str(1 << 20), "--admin-token", "a-token-that-is-long-enough")
        for _ in range(4):
            deaf = self.enterContext(server.connect(server.http))
            deaf.setblocking(False)
            with contextlib.suppress(BlockingIOError, ConnectionError):
                deaf.sendall(LARGE_ANSWER * 400)
        wait_until(lambda: server.metric("rate_limiter_bounds_exceeded_total", bound="memory") > 0)
        self.read(server)

    def provoke_http2_abuse(self):
        server = self.serve()
        frame, call = http2.frame, http2.grpc_call
        block = b"\0\x01a\x01b"
        large = b"\x40\x01a\x7f" + bytes([0x80 | (3900 - 127) & 0x7F, (3900 - 127) >> 7]) + b"x" * 3900 + b"\xbe" * 1000
        head = http2.grpc_headers(1, "/")[9:]
        inflated = http2.grpc_message(gzip_bomb(), compressed=True)
        floods = {
            "pings": frame(6, 0, 0, b"12345678") * 1200,
            "settings": frame(4, 0, 0) * 120,
            "window_updates": frame(8, 0, 0, b"\0\0\0\1") * 12000,
            "priorities": frame(2, 0, 1, b"\0\0\0\3\7") * 1200,
            "empty_data": http2.grpc_headers(1, HEALTH) + frame(0, 0, 1) * 1200,
            "closed_streams": frame(1, 5, 1, block) * 1200,
            "resets": b"".join(http2.grpc_headers(2 * i + 1, HEALTH) + frame(3, 0, 2 * i + 1, b"\0\0\0\x08") for i in range(1200)),
            "continuations": frame(1, 0, 1, head) + frame(9, 0, 1, block) * 20,
            "headers": call(1, HEALTH, b"") + frame(1, 4, 3, head + large),
            "inflation": b"".join(
                http2.grpc_headers(2 * i + 1, HEALTH, grpc_encoding="gzip") + frame(0, 1, 2 * i + 1, inflated) for i in range(200)
            ),
        }
        for reason, flood in floods.items():
            with self.subTest(reason), server.connect(server.grpc) as connection:
                client = http2.Http2Client(connection)
                if reason == "closed_streams":
                    client.send(http2.grpc_headers(1, "/test/None"))
                    client.read_until(http2.HEADERS, http2.END_STREAM)
                with contextlib.suppress(ConnectionError):
                    client.send(flood)
                    receive_all(connection)
                wait_until(lambda reason=reason: server.metric("rate_limiter_http2_abuse_total", reason=reason) > 0, reason)
        self.read(server)

    def provoke_handshakes(self):
        authority = Authority(self.folder)
        certificate, key = authority.issue("server")
        stranger = Authority(self.folder, "other").issue("mallory")
        server = self.serve(
            *tls_flags(certificate, key, "http", "resp", "grpc"), "--limits-request-timeout", "500ms",
            "--resp-tls-client-certificates", "required", "--resp-tls-client-ca", authority.certificate,
        )  # fmt: skip

        def talk(port, ca=authority.certificate, identity=None, alpn=None, session=None):
            context = ssl.create_default_context(cafile=str(ca))
            context.maximum_version = ssl.TLSVersion.TLSv1_2
            if identity:
                context.load_cert_chain(*identity)
            if alpn:
                context.set_alpn_protocols([alpn])
            with contextlib.suppress(ssl.SSLError, ConnectionError), server.connect(port) as plain:
                with context.wrap_socket(plain, server_hostname="localhost", session=session and session[1]) as client:
                    client.sendall(b"PING\r\n")
                    client.recv(10)
                    return context, client.session
            return None

        def say(data):
            with server.connect(server.https) as client:
                client.sendall(data)
                receive_all(client)

        first = talk(server.https)
        with contextlib.suppress(ssl.SSLError, ConnectionError), server.connect(server.https) as plain:
            with first[0].wrap_socket(plain, server_hostname="localhost", session=first[1]) as again:
                self.assertTrue(again.session_reused)
        say(b"GET / HTTP/1.1\r\n\r\n")
        talk(server.https, alpn="h2")
        talk(server.rediss)
        talk(server.rediss, identity=stranger)
        talk(server.https, ca=stranger[0])
        say(b"\x16\x03\x01\x00\x10" + bytes(range(16)))
        say(b"\x16\x03\x01\x02\x00\x01")
        with server.connect(server.https) as client:
            client.sendall(b"\x16\x03\x01\x02\x00\x01")
        results = documented_values()[("result", "rate_limiter_tls_handshakes_total")]

        def complete():
            self.read(server)
            seen = self.pages.values[("result", "rate_limiter_tls_handshakes_total")]
            return all(seen.get(result) for result in results)

        wait_until(complete, lambda: self.pages.values[("result", "rate_limiter_tls_handshakes_total")])

    def provoke_reloads(self):
        authority = Authority(self.folder)
        certificate, key = authority.issue("server")
        envoy = self.folder / "envoy"
        envoy.mkdir()
        (envoy / "edge.yaml").write_text(ENVOY, encoding="utf-8")
        server = self.serve(*tls_flags(certificate, key, "http", "resp", "grpc"), "--envoy-config", envoy, rules=RULES)

        authority.issue("server")
        wait_until(lambda: server.metric("rate_limiter_tls_reloads_total", protocol="http", result="success") > 0)
        self.read(server)
        replace_file(certificate, "nonsense")
        replace_file(self.folder / "rules.yaml", "nonsense")
        replace_file(envoy / "edge.yaml", "nonsense")
        # Only the last load of identity was successful.
        wait_until(lambda: server.metric("rate_limiter_last_load_successful") == 1)
        self.read(server)
        replace_file(self.folder / "rules.yaml", RULES)
        wait_until(lambda: server.metric("rate_limiter_last_load_successful", config="rules") == 1)

    def provoke_rules_from_a_store(self):
        self.read(self.serve("--rules-source", "store", "--state-dir", self.folder / "state", rules=RULES))

    def provoke_exports(self):
        receiver = self.enterContext(otlp.Receiver([(503, {}), (400, {})]))
        flags = ("--otlp-endpoint", receiver.url, "--otlp-sampler", "always_on", "--otlp-denied-every", "1")
        server = self.serve(*flags, "--otlp-metrics-interval", "100ms", rules=RULES)

        def complete():
            server.check("a-1")
            self.read(server)
            results = self.pages.values[("result", "rate_limiter_otlp_requests_total")]
            exported = self.pages.values[("signal", "rate_limiter_otlp_exported_total")]
            return all(results.values()) and all(exported.values())

        wait_until(complete)

    def provoke_datagrams(self):
        receiver = self.enterContext(contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)))
        receiver.bind(("127.0.0.1", 0))
        server = self.serve("--statsd-address", f"127.0.0.1:{receiver.getsockname()[1]}", "--statsd-interval", "10ms", rules=RULES)
        wait_until(lambda: server.metric("rate_limiter_statsd_datagrams_total") > 0)
        self.read(server)

    def test_every_documented_value_of_a_label_moves(self):
        slow = self.serve()
        client = http2.Http2Client(self.enterContext(slow.connect(slow.grpc)))
        client.send(http2.NO_WINDOW, http2.grpc_call(1, HEALTH, b""))  # It is closed after 30 s.
        for name in sorted(name for name in dir(self) if name.startswith("provoke_")):
            with self.subTest(name):
                getattr(self, name)()
        wait_until(lambda: slow.metric("rate_limiter_http2_abuse_total", reason="slow_reader") > 0)
        self.read(slow)

        documented = documented_values()
        for (label, metric), values in documented.items():
            seen = self.pages.values.get((label, metric), {})
            with self.subTest(label=label, metric=metric):
                self.assertEqual(values, {value for value, most in seen.items() if most > 0})
                self.assertEqual(values, set(seen), "and pages have no others")
        for label, metric in self.pages.values:
            self.assertTrue({(label, metric), (label, None)} & documented.keys() or metric is None, (label, metric))
        self.assertEqual(documented_metrics(), {
            name: (kind, frozenset(self.pages.labels[name])) for name, kind in self.pages.types.items()
        })  # fmt: skip
        for file in ("deploy/grafana/sluice.json", "deploy/prometheus/alerts.yml"):
            used = set(re.findall(r"\b(?:rate_limiter|process)_[a-z0-9_]+", (ROOT / file).read_text(encoding="utf-8")))
            self.assertGreater(len(used), 5, file)
            self.assertEqual(used - self.pages.samples, set(), file)

    def test_limits_of_one_rule_have_series_of_their_own(self):
        server = self.serve(rules=RULES)
        self.assertEqual([server.check("llm-1").status for _ in range(2)], [200, 429])

        def requests(limit, allowed):
            return server.metric("rate_limiter_requests_total", rule="llm", limit=limit, allowed=allowed)

        self.assertEqual((requests("rpm", "true"), requests("rpm", "false")), (1, 1))
        self.assertEqual((requests("tpm", "true"), requests("tpm", "false")), (2, 0))

    def test_cohorts_of_a_rollout_have_series_of_their_own(self):
        server = self.serve(
            rules=f"rules: [{{ id: api, {FOREVER}, limit: 9, rollout: {{ percent: 35, from: {{ {FOREVER}, limit: 1 }} }} }}]"
        )
        for key in ("sk_1", "sk_2", "sk_2"):  # Of this rule, only sk_1 is in the rollout.
            server.check(key)

        def requests(**labels):
            return server.metric("rate_limiter_requests_total", rule="api", **labels)

        self.assertEqual((requests(cohort="new", allowed="true"), requests(cohort="new", allowed="false")), (1, 0))
        self.assertEqual((requests(cohort="old", allowed="true"), requests(cohort="old", allowed="false")), (1, 1))
        self.assertEqual(requests(), 3)

    def test_a_shadow_limit_counts_its_denials_under_its_name(self):
        server = self.serve(rules=RULES)
        self.assertEqual([server.check("shadow-1").status for _ in range(3)], [200, 200, 200])
        page = server.request("GET", "/metrics").text
        self.assertEqual(metrics.total(page, "rate_limiter_shadow_denials_total", rule="shadow"), 2)
        self.assertEqual(metrics.total(page, "rate_limiter_requests_total", rule="shadow", allowed="true"), 3)

    def test_no_label_of_a_page_can_be_a_constant_one(self):
        labels = {label for _, labels in documented_metrics().values() for label in labels} | {"le"}
        self.assertGreater(len(labels), 10)
        for label in labels:
            done = run_sluice("serve", "--http", "127.0.0.1:0", "--resp", "none", "--grpc", "none", "--metrics-labels", f"{label}=x")
            self.assertNotEqual(done.returncode, 0, label)
            self.assertIn(f'metrics label "{label}"', done.stderr)

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not installed")
    def test_promtool_finds_nothing_wrong_with_a_page(self):
        server = self.serve(rules=RULES)
        server.check("a-1")
        page = server.request("GET", "/metrics").text
        done = subprocess.run(
            ["promtool", "check", "metrics"], input=page, capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_every_panel_of_the_dashboard_has_a_description(self):
        for panel in dashboard_panels():
            if panel["type"] != "row":
                self.assertTrue(panel.get("description"), panel["title"])

    def test_the_dashboard_has_the_form_that_grafana_expects(self):
        schema = importlib.util.find_spec("jsonschema")
        if schema is None:
            self.skipTest("there is no jsonschema")
        import jsonschema

        jsonschema.validate(json.loads(DASHBOARD.read_text(encoding="utf-8")), DASHBOARD_SCHEMA)

    def test_panels_of_the_dashboard_have_ids_and_places_of_their_own(self):
        panels = dashboard_panels()
        self.assertEqual(len({panel["id"] for panel in panels}), len(panels))
        places = [
            (x, y)
            for place in (panel["gridPos"] for panel in panels)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        ]
        self.assertEqual(len(set(places)), len(places), "panels overlap")
        self.assertLess(max(x for x, _ in places), 24)

    @unittest.skipUnless(shutil.which("promtool"), "there is no promtool")
    def test_promtool_reads_every_query_of_the_dashboard(self):
        queries = [target["expr"] for panel in dashboard_panels() for target in panel.get("targets", ())]
        self.assertGreater(len(queries), 40)
        queries = [query.replace("$__rate_interval", "5m").replace("$__range", "1h") for query in queries]
        rules = [{"record": f"query:{number}", "expr": query} for number, query in enumerate(queries)]
        path = self.folder / "queries.yml"
        path.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}), encoding="utf-8")
        done = subprocess.run(
            ["promtool", "check", "rules", "--lint", "none", path], capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


def gzip_bomb():
    """A message of two megabytes."""
    return gzip.compress(bytes(2 << 20))


if __name__ == "__main__":
    unittest.main()
