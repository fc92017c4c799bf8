"""Export of telemetry by the server named by SLUICE, to receivers that read it with opentelemetry-proto: present, absent, slow, failing."""

import base64
import contextlib
import fcntl
import json
import os
import re
import sys
import threading
import unittest
import unittest.mock
from pathlib import Path

from support import http2, otlp, pip_packages
from support.environment import TIMEOUT, skip_all, wait_until
from support.redis_servers import RedisServer
from support.sluice import ServerTest, run_sluice

PACKAGE = "opentelemetry-proto==1.45.2"
FOLDER = Path(os.environ.get("OTLP_FOLDER", "build/otlp"))
FOLDER.mkdir(parents=True, exist_ok=True)
with (FOLDER / "lock").open("w", encoding="utf-8") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    if not pip_packages.install(PACKAGE, FOLDER / PACKAGE):
        skip_all("opentelemetry-proto can't be had")
sys.path.insert(0, str(FOLDER / PACKAGE))

from google.protobuf import json_format
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

MESSAGES = {
    "/v1/traces": ExportTraceServiceRequest,
    "/v1/metrics": ExportMetricsServiceRequest,
    "/v1/logs": ExportLogsServiceRequest,
}
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
RULES = """
rules:
  - { id: few, match: { api_key: "secret-*" }, limit: 2 per day, per: [api_key] }
  - { id: many, match: { api_key: "many-*" }, limit: 1000000 per day, per: [api_key] }
"""
LONG = f"{TIMEOUT}s"


def traceparent(sampled=True, trace=TRACE):
    return f"00-{trace}-{PARENT}-0{int(sampled)}"


def from_json(kind, text):
    """OTLP's JSON has ids in hexadecimal, protobuf's in base64; everything else is the same, and unknown names are errors."""

    def convert(value):
        if isinstance(value, list):
            return [convert(one) for one in value]
        if not isinstance(value, dict):
            return value
        return {
            name: base64.b64encode(bytes.fromhex(one)).decode() if name in ("traceId", "spanId", "parentSpanId") else convert(one)
            for name, one in value.items()
        }

    return json_format.ParseDict(convert(json.loads(text)), kind())


def message_of(request):
    kind, content_type = MESSAGES[request.path], request.headers["content-type"]
    if content_type == "application/json":
        return from_json(kind, request.body)
    assert content_type == "application/x-protobuf", content_type
    return kind.FromString(request.body)


class Receiver(otlp.Receiver):
    """Reads what it accepted."""

    @property
    def messages(self):
        return list(map(message_of, list(self.accepted)))

    def of(self, kind):
        return [message for message in self.messages if isinstance(message, kind)]

    def spans(self):
        return [
            span
            for message in self.of(ExportTraceServiceRequest)
            for resource in message.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def records(self):
        return [
            record
            for message in self.of(ExportLogsServiceRequest)
            for resource in message.resource_logs
            for scope in resource.scope_logs
            for record in scope.log_records
        ]

    def metrics(self):
        """The last state of each metric, by its name."""
        found = {}
        for message in self.of(ExportMetricsServiceRequest):
            for resource in message.resource_metrics:
                for scope in resource.scope_metrics:
                    for metric in scope.metrics:
                        found[metric.name] = metric
        return found


def attributes(message):
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in message.attributes}


class TelemetryTest(ServerTest):
    def receiver(self, *arguments, **options):
        return self.enterContext(Receiver(*arguments, **options))

    def export(self, receiver, *flags, rules=RULES, **options):
        url = receiver if isinstance(receiver, str) else receiver.url
        return self.serve("--otlp-endpoint", url, "--otlp-slow-call", "1d", *flags, rules=rules, **options)

    def check(self, server, key, **headers):
        return server.request("GET", f"/api/v1/rate-limit/check?key={key}", headers=list(headers.items()))

    def wait_for(self, condition):
        wait_until(condition, "telemetry arrives")


class TraceTest(TelemetryTest):
    def assert_within(self, spans, budget):
        """A span that was recorded late counts in the next second."""
        seconds = [span.end_time_unix_nano // 10**9 for span in spans]
        self.assertLessEqual(len(spans), budget * (max(seconds) - min(seconds) + 2))

    def test_a_sampled_caller_gets_a_span_with_its_decision(self):
        for protocol in ("http/protobuf", "http/json"):
            with self.subTest(protocol):
                receiver = self.receiver()
                server = self.export(receiver, "--otlp-protocol", protocol, "--otlp-service-name", "shop")
                self.check(server, "secret-1", traceparent=traceparent())
                self.wait_for(receiver.spans)
                (span,) = receiver.spans()
                self.assertEqual((span.trace_id.hex(), span.parent_span_id.hex()), (TRACE, PARENT))
                self.assertEqual((span.name, span.kind, len(span.span_id)), ("sluice.check", span.SPAN_KIND_SERVER, 8))
                self.assertLessEqual(span.start_time_unix_nano, span.end_time_unix_nano)
                known = attributes(span)
                self.assertEqual(
                    known,
                    {
                        "sluice.protocol": "http", "sluice.outcome": "allowed", "sluice.allowed": True, "sluice.degraded": False,
                        "sluice.slow": False, "sluice.cost": 1, "sluice.limits": 1, "sluice.rule": "few", "sluice.limit": known["sluice.limit"],
                        "sluice.cap": 2, "sluice.remaining": 1,
                    },
                )  # fmt: skip
                resource = attributes(receiver.of(ExportTraceServiceRequest)[0].resource_spans[0].resource)
                self.assertEqual(resource["service.name"], "shop")
                self.assertIn("service.instance.id", resource)

    def test_traceparent_comes_over_http_resp_and_grpc(self):
        receiver = self.receiver()
        server = self.export(receiver, "--envoy-rule-domains", "sluice")
        traces = {name: f"{number:032x}" for number, name in enumerate(("http", "resp", "grpc"), 1)}
        self.check(server, "many-1", traceparent=traceparent(trace=traces["http"]))
        server.redis_cli("SLUICE.CHECK", "api_key", "many-1", "traceparent", traceparent(trace=traces["resp"]))
        # RateLimitRequest{domain: "sluice", descriptors: [{entries: [{key: "api_key", value: "many-1"}]}]}
        request = b"\x0a\x06sluice\x12\x13\x0a\x11\x0a\x07api_key\x12\x06many-1"
        with contextlib.closing(server.connect(server.grpc)) as connection:
            client = http2.Http2Client(connection)
            path = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
            headers = http2.grpc_headers(1, path, traceparent=traceparent(trace=traces["grpc"]))
            client.send(headers, http2.frame(http2.DATA, http2.END_STREAM, 1, http2.grpc_message(request)))
            client.read_until(http2.HEADERS, http2.END_STREAM)
        self.wait_for(lambda: {span.trace_id.hex() for span in receiver.spans()} >= set(traces.values()))
        protocols = {span.trace_id.hex(): attributes(span)["sluice.protocol"] for span in receiver.spans()}
        self.assertEqual(protocols, {trace: name for name, trace in traces.items()})

    def test_traceparent_is_no_attribute_of_a_call(self):
        server = self.serve(rules="rules: [{ id: all, limit: 9 per day, per: [traceparent], on_missing: deny }]")
        first = server.redis_cli("SLUICE.CHECK", "ip", "10.0.0.1", "traceparent", traceparent())
        self.assertEqual(first[0], "0", first)

    def test_keys_and_addresses_are_in_no_span_and_in_no_record(self):
        receiver = self.receiver()
        server = self.export(receiver, "--otlp-sampler", "always_on", "--otlp-denied-every", "1")
        for _ in range(4):
            self.check(server, "secret-key", traceparent=traceparent())
        self.wait_for(lambda: len(receiver.spans()) == 4 and len(receiver.records()) == 2)
        for message in receiver.messages:
            self.assertNotIn(b"secret-key", message.SerializeToString())
            self.assertNotIn(b"127.0.0.1", message.SerializeToString())

    def test_parents_that_are_not_sampled_and_invalid_ones_have_no_span(self):
        receiver = self.receiver()
        server = self.export(receiver, "--otlp-sampler", "parentbased_always_off")
        for header in (traceparent(sampled=False), "nonsense", "", "00-" + "0" * 32 + "-" + PARENT + "-01"):
            self.check(server, "many-1", traceparent=header)
        self.check(server, "many-1", traceparent=traceparent())
        self.wait_for(receiver.spans)
        self.assertEqual([span.trace_id.hex() for span in receiver.spans()], [TRACE])

    def test_a_budget_bounds_the_spans_of_callers_that_sample_everything(self):
        receiver = self.receiver()
        server = self.export(receiver, "--otlp-spans-per-second", "5")
        for i in range(200):
            self.check(server, f"many-{i}", traceparent=traceparent())
        self.wait_for(lambda: server.metric("rate_limiter_otlp_dropped_total", signal="traces") > 0)
        self.assertEqual(server.stop(), 0)
        self.assert_within(receiver.spans(), 5)

    def test_the_call_to_redis_is_a_span_below_the_check(self):
        receiver = self.receiver()
        with RedisServer() as redis:
            server = self.export(receiver, store=redis.url)
            wait_until(lambda: self.check(server, "many-1").status == 200)
            self.check(server, "many-1", traceparent=traceparent())
            self.wait_for(lambda: len(receiver.spans()) == 2)
            check, call = sorted(receiver.spans(), key=lambda span: span.name, reverse=True)
            self.assertEqual((check.name, call.name), ("sluice.check", "redis.evalsha"))
            self.assertEqual((call.trace_id, call.parent_span_id, call.kind), (check.trace_id, check.span_id, call.SPAN_KIND_CLIENT))
            self.assertLessEqual(check.start_time_unix_nano, call.start_time_unix_nano)
            self.assertLess(call.start_time_unix_nano, call.end_time_unix_nano)
            self.assertEqual(attributes(call)["db.system.name"], "redis")

    def test_degraded_and_slow_calls_have_spans_whatever_the_sampler_says(self):
        receiver = self.receiver()
        with RedisServer() as redis:
            server = self.export(
                receiver, "--otlp-sampler", "always_off", "--otlp-spans-per-second", "10", store=redis.url, store_deadline="20ms"
            )
            wait_until(lambda: not self.check(server, "many-1").json().get("degraded"))
            redis.pause()
            for _ in range(100):
                self.check(server, "many-1")
            self.wait_for(receiver.spans)
            redis.resume()
        self.assertEqual(server.stop(), 0)
        self.assert_within(receiver.spans(), 10)
        for span in receiver.spans():
            if span.name == "sluice.check":
                self.assertTrue(attributes(span)["sluice.degraded"])
                self.assertEqual(span.status.code, span.status.STATUS_CODE_ERROR)

    def test_slow_calls_are_marked(self):
        receiver = self.receiver()
        with RedisServer() as redis:
            slow = self.serve(
                "--otlp-endpoint", receiver.url, "--otlp-slow-call", "1ms", "--otlp-sampler", "always_off", store=redis.url, rules=RULES
            )
            wait_until(lambda: self.check(slow, "many-1").status == 200)
            redis.pause()
            answer = threading.Thread(target=self.check, args=(slow, "many-1"))
            answer.start()
            wait_until(lambda: slow.metric("rate_limiter_connections", protocol="http") > 1)
            redis.resume()
            answer.join()
            self.wait_for(lambda: any(attributes(span).get("sluice.slow") for span in receiver.spans()))


class MetricsTest(TelemetryTest):
    def test_metrics_are_those_of_the_prometheus_page(self):
        for protocol in ("http/protobuf", "http/json"):
            with self.subTest(protocol):
                receiver = self.receiver()
                server = self.export(receiver, "--otlp-protocol", protocol, "--otlp-metrics-interval", "100ms", "--metrics-labels", "zone=b")
                for _ in range(3):
                    self.check(server, "secret-1")
                calls = "rate_limiter_calls_total"

                def counted():
                    metric = receiver.metrics().get(calls)
                    return metric and {
                        attributes(point)["outcome"]: point.as_int
                        for point in metric.sum.data_points
                        if attributes(point)["protocol"] == "http"
                    }

                self.wait_for(lambda: (counted() or {}).get("denied") == 1)
                self.assertEqual(counted()["allowed"], 2)
                metric = receiver.metrics()[calls]
                self.assertTrue(metric.sum.is_monotonic)
                self.assertEqual(metric.sum.aggregation_temporality, 2)
                self.assertEqual({attributes(point)["zone"] for point in metric.sum.data_points}, {"b"})
                page = server.request("GET", "/metrics").text
                families = set(re.findall(r"^# TYPE (\S+)", page, re.MULTILINE))
                self.assertEqual(families, set(receiver.metrics()))
                histogram = receiver.metrics()["rate_limiter_check_seconds"].histogram
                for point in histogram.data_points:
                    self.assertEqual(len(point.bucket_counts), len(point.explicit_bounds) + 1)
                    self.assertEqual(sum(point.bucket_counts), point.count)

    def test_what_was_counted_is_sent_at_the_end(self):
        receiver = self.receiver()
        server = self.export(receiver)
        self.check(server, "secret-1")
        self.assertEqual(server.stop(), 0)
        points = receiver.metrics()["rate_limiter_calls_total"].sum.data_points
        self.assertEqual(sum(point.as_int for point in points), 1)


class LogTest(TelemetryTest):
    def test_one_in_so_many_denials_is_a_record(self):
        receiver = self.receiver()
        server = self.export(receiver, "--otlp-denied-every", "3", "--otlp-traces", "false")
        for _ in range(2 + 7):
            self.check(server, "secret-1")
        self.wait_for(lambda: len(receiver.records()) == 3)
        record = receiver.records()[0]
        self.assertEqual((record.body.string_value, record.severity_text), ("call denied", "INFO"))
        known = attributes(record)
        self.assertEqual((known["sluice.rule"], known["sluice.cap"], known["sluice.remaining"]), ("few", 2, 0))
        self.assertGreater(known["sluice.retry_after_ms"], 0)
        self.assertEqual(receiver.spans(), [])


class ReceiverTest(TelemetryTest):
    def test_a_failing_receiver_gets_the_same_again(self):
        receiver = self.receiver([(503, {}), (429, {"Retry-After": "1"})])
        server = self.export(receiver, "--otlp-metrics", "false")
        self.check(server, "many-1", traceparent=traceparent())
        self.wait_for(receiver.spans)
        self.assertEqual(len(receiver.requests), 3)
        self.wait_for(lambda: server.metric("rate_limiter_otlp_exported_total", signal="traces") == 1)
        self.assertEqual(server.metric("rate_limiter_otlp_requests_total", result="retried"), 2)

    def test_a_redirect_is_not_followed_and_what_it_had_is_dropped(self):
        elsewhere = self.receiver()
        receiver = self.receiver([(307, {"Location": elsewhere.url + "/v1/traces"})])
        server = self.export(receiver, "--otlp-metrics", "false", "--otlp-headers", "authorization=Bearer%20s3cret")
        self.check(server, "many-1", traceparent=traceparent())
        self.wait_for(lambda: server.metric("rate_limiter_otlp_dropped_total", signal="traces") == 1)
        self.assertEqual(server.metric("rate_limiter_otlp_requests_total", result="failed"), 1)
        self.assertEqual(receiver.requests[0].headers.get("authorization"), "Bearer s3cret")
        self.assertEqual(elsewhere.requests, [])
        self.assertFalse(server.log_lines("s3cret"))

    def test_without_a_receiver_and_with_one_that_hangs_calls_are_answered_and_the_server_stops(self):
        hanging = self.receiver()
        hanging.hold.clear()
        for url in ("http://127.0.0.1:1", hanging.url):
            with self.subTest(url):
                server = self.export(url, "--otlp-timeout", LONG, "--otlp-sampler", "always_on")
                for i in range(50):
                    self.assertEqual(self.check(server, f"many-{i}").status, 200)
                if url == hanging.url:
                    wait_until(lambda: hanging.requests)
                else:
                    wait_until(lambda: server.metric("rate_limiter_otlp_requests_total", result="retried") > 0)
                    self.assertTrue(server.log_lines("export of telemetry failed"))
                self.assertEqual(server.stop(), 0)

    def test_without_an_endpoint_there_is_no_exporter(self):
        server = self.serve(rules=RULES)
        threads = {
            (folder / "comm").read_text(encoding="utf-8").strip() for folder in Path(f"/proc/{server.process.pid}/task").iterdir()
        }
        self.assertNotIn("sluice-otlp", threads)
        self.assertNotIn("rate_limiter_otlp", server.request("GET", "/metrics").text)


class SettingsTest(TelemetryTest):
    def test_the_variables_of_opentelemetry_are_settings(self):
        receiver = self.receiver()
        variables = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json", "OTEL_SERVICE_NAME": "mine",
            "OTEL_EXPORTER_OTLP_HEADERS": "api-key=a%20b", "OTEL_EXPORTER_OTLP_TIMEOUT": "30000", "OTEL_TRACES_SAMPLER": "traceidratio",
            "OTEL_TRACES_SAMPLER_ARG": "1", "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment=test", "OTEL_METRICS_EXPORTER": "none",
            "OTEL_METRIC_EXPORT_INTERVAL": "100",
        }  # fmt: skip
        with unittest.mock.patch.dict(os.environ, variables):
            server = self.serve(rules=RULES)
        self.check(server, "many-1")
        self.wait_for(receiver.spans)
        path, headers, _ = receiver.requests[0]
        self.assertEqual((path, headers["content-type"], headers["api-key"]), ("/v1/traces", "application/json", "a b"))
        resource = attributes(receiver.of(ExportTraceServiceRequest)[0].resource_spans[0].resource)
        self.assertEqual((resource["service.name"], resource["deployment.environment"]), ("mine", "test"))
        self.assertEqual(receiver.metrics(), {})

    def test_a_setting_goes_before_a_variable_and_a_switch_before_all_variables(self):
        with unittest.mock.patch.dict(os.environ, {"OTEL_SERVICE_NAME": "theirs", "SLUICE_OTLP_SERVICE_NAME": "ours"}):
            self.assertIn("service_name: ours", run_sluice("serve", "--print-config").stdout)
        disabled = {"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}
        with unittest.mock.patch.dict(os.environ, disabled):
            self.assertEqual(run_sluice("serve", "--print-config").returncode, 0)

    def test_headers_are_never_shown(self):
        for flags in (["--otlp-headers", "authorization=s3cret"], ["--otlp-headers", "authorization=s3cret%"],
                      ["--otlp-headers", "s3cret"], ["--otlp-headers", "a b=s3cret"]):  # fmt: skip
            shown = run_sluice("serve", "--print-config", *flags)
            self.assertNotIn("s3cret", shown.stdout + shown.stderr, flags)

    def test_wrong_values_are_refused_at_once(self):
        for flags in (
            ["--otlp-endpoint", "collector:4317"], ["--otlp-protocol", "grpc"], ["--otlp-sampler", "sometimes"],
            ["--otlp-sampler-ratio", "2"], ["--otlp-sampler-ratio", "nan"], ["--otlp-timeout", "0"], ["--otlp-spans-per-second", "0"],
            ["--otlp-endpoint", "http://192.0.2.1:4318", "--otlp-headers", "authorization=s3cret"],
            ["--otlp-endpoint", "https://localhost:1", "--otlp-ca-file", "/nowhere"],
        ):  # fmt: skip
            refused = run_sluice("serve", "--http", "127.0.0.1:0", "--resp", "none", "--grpc", "none", *flags)
            self.assertNotEqual(refused.returncode, 0, flags)
            self.assertIn("otlp", refused.stderr, flags)
            self.assertNotIn("s3cret", refused.stderr)


if __name__ == "__main__":
    unittest.main()
