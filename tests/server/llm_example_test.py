"""The proxy of examples/llm between clients and a provider of this test."""

import json
import socket
import subprocess
import sys
import unittest
from pathlib import Path

from support import http1
from support.environment import run_in_parallel, wait_until
from support.llm_provider import LlmProvider
from support.sluice import ServerTest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "llm"
# 1 input token costs 500 nano-dollars, 1 output token 2000. Windows that begin with the first call.
RULES = """
models: { small: { input: 0.5, cached: 0.05, output: 2 } }
defaults: { algorithm: fixed_window, anchor: first_hit, window: 30000d }
rules:
  - id: key
    per: [api_key]
    limits:
      calls: { limit: 1000 }
      input: { limit: 100000, type: input_tokens }
      output: { limit: 2000, type: output_tokens }
      parallel: { algorithm: concurrency, limit: 4, ttl: 1d }
      money: { limit: 0.01 USD, algorithm: fixed_window }
"""
BUDGETS = {"calls": 1000, "input": 100000, "output": 2000, "parallel": 4, "money": 10_000_000}


class LlmExample(ServerTest):
    def setUp(self):
        self.provider = self.enterContext(LlmProvider())
        self.sluice = self.serve("--http-headers", "openai", rules=RULES)
        self.port = self.start(self.provider.port)

    def start(self, provider_port):
        process = subprocess.Popen(
            [sys.executable, "-B", EXAMPLE / "proxy.py", "0", f"127.0.0.1:{self.sluice.http}", f"127.0.0.1:{provider_port}"],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return int(process.stdout.readline().rsplit(":", 1)[1])

    def call(self, words=4, port=None, **more):
        body = {"model": "small", "messages": [{"role": "user", "content": "word " * words}], **more}
        return http1.request(port or self.port, "POST", "/v1/chat/completions", body, {"Authorization": "Bearer sk-1"})

    def used(self):
        limits = self.sluice.request("GET", "/api/v1/rate-limit/remaining?api_key=sk-1&model=small").json()["limits"]
        left = {limit["name"]: limit["remaining"] for limit in limits}
        return {name: BUDGETS[name] - left[name] for name in BUDGETS}

    def wait_for(self, **expected):
        wait_until(lambda: expected.items() <= self.used().items(), lambda: f"{self.used()} is not {expected}")

    def test_the_example_has_rules_that_are_right(self):
        self.serve("--rules", EXAMPLE / "rules.yaml")

    def test_a_call_is_settled_with_what_the_provider_counted(self):
        self.provider.cached_tokens = 3
        response = self.call(words=5, max_tokens=100)
        self.assertEqual(response.status, 200, response.text)
        self.assertEqual(response.json()["usage"]["completion_tokens"], 10)
        self.assertEqual(response.headers["x-ratelimit-limit-tokens"], "2000")
        self.assertEqual(response.headers["x-ratelimit-remaining-tokens"], "1900", "what was reserved is not there for others")
        self.assertEqual(self.used(), {"calls": 1, "input": 2, "output": 10, "parallel": 0, "money": 2 * 500 + 3 * 50 + 10 * 2000})

    def test_a_denied_caller_gets_an_error_that_its_client_knows(self):
        self.assertEqual(self.call(max_tokens=1500).status, 200)
        self.provider.answer_tokens = 1995
        self.assertEqual(self.call(max_tokens=1990).status, 200)
        response = self.call(max_tokens=100)
        self.assertEqual(response.status, 429)
        error = response.json()["error"]
        self.assertEqual((error["type"], error["code"], error["param"]), ("rate_limit_exceeded", "rate_limit_exceeded", None))
        self.assertIn("output_tokens", error["message"])
        self.assertEqual(response.headers["x-ratelimit-remaining-tokens"], "0")
        self.assertGreater(int(response.headers["Retry-After"]), 0)
        self.assertEqual(self.provider.calls, 2, "a denied call does not reach the provider")

    def test_a_failed_call_costs_nothing(self):
        self.provider.status = 500
        self.assertEqual(self.call().status, 500)
        nobody = socket.create_server(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        nobody.close()
        self.assertEqual(self.call(port=self.start(port)).status, 502)
        self.assertEqual(set(self.used().values()), {0})

    def test_a_stream_is_settled_with_its_usage(self):
        self.provider.answer_tokens = 120
        response = self.call(stream=True)
        events = [json.loads(line[6:]) for line in response.text.splitlines() if line.startswith("data: {")]
        self.assertEqual(sum(bool(event["choices"]) for event in events), 121)
        self.assertTrue(response.text.endswith("data: [DONE]\n\n"))
        self.wait_for(calls=1, input=4, output=120, parallel=0, money=4 * 500 + 120 * 2000)

    def test_a_stream_ends_when_the_budget_is_exhausted(self):
        self.provider.answer_tokens = 10_000
        response = self.call(max_tokens=10)
        self.assertEqual(response.status, 200)
        response = self.call(stream=True)
        self.assertTrue(response.text.endswith("data: [DONE]\n\n"))
        self.wait_for(parallel=0)
        self.assertIn(self.used()["output"], range(2000, 2051), "at most one report more than the budget")

    def test_a_client_that_is_gone_pays_for_what_was_made_and_frees_its_slot(self):
        self.provider.answer_tokens = 400
        self.provider.gate.clear()
        client = socket.create_connection(("127.0.0.1", self.port))
        body = json.dumps({"model": "small", "stream": True, "messages": [{"role": "user", "content": "hi"}]})
        client.sendall(f"POST /v1/chat/completions HTTP/1.0\r\nAuthorization: Bearer sk-1\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        self.assertIn(b"200", client.recv(1000))
        self.assertEqual(self.used()["parallel"], 1)
        client.close()
        self.provider.gate.set()
        self.wait_for(parallel=0)
        wait_until(lambda: self.provider.running == 0)
        self.assertGreaterEqual(self.used()["output"], 1)
        self.assertLessEqual(self.used()["output"], 400)

    def test_many_clients_never_exceed_a_limit(self):
        self.provider.answer_tokens = 7
        results = run_in_parallel(lambda _: self.call(max_tokens=50).status, *((i,) for i in range(60)))
        passed = results.count(200)
        self.assertEqual(set(results) - {200, 429}, set())
        self.assertGreater(passed, 0)
        self.assertEqual(self.provider.calls, passed)
        self.assertLessEqual(self.provider.most_running, 4)
        self.assertEqual(self.provider.output_tokens, 7 * passed)
        expected = {"calls": passed, "input": 4 * passed, "output": 7 * passed, "parallel": 0, "money": passed * (4 * 500 + 7 * 2000)}
        self.assertEqual(self.used(), expected)


if __name__ == "__main__":
    unittest.main()
