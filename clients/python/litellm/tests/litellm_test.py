"""A real litellm proxy with Sluice as its limiter, between clients and a provider of this test.

    ./dev test-clients litellm
"""

import hashlib
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from support import http1
from support.environment import run_in_parallel, wait_until
from support.llm_provider import LlmProvider
from support.ports import free_port
from support.sluice import Server

PACKAGE = Path(__file__).resolve().parents[1]
START_SECONDS = 300  # It imports a lot, and machines that run tests are busy.
# Windows that begin with the first call and outlast the test.
RULES = """
models: { small: { input: 0.5, cached: 0.05, output: 2 } }
defaults: { algorithm: fixed_window, anchor: first_hit, window: 30000d }
rules:
  - id: key
    per: [api_key, model]
    limits:
      calls: { limit: 40 }
      output: { limit: 1000, type: output_tokens }
      parallel: { algorithm: concurrency, limit: 4, ttl: 1d }
      money: { limit: 1 USD, algorithm: fixed_window }
"""
BUDGETS = {"calls": 40, "output": 1000, "parallel": 4, "money": 10**9}


class Proxy:
    """A litellm proxy; `limits`: of each key, for its own limiter."""

    def __init__(self, folder, provider, sluice=None, limits=None):
        callbacks = "litellm_settings: { callbacks: sluice_litellm.proxy_handler_instance }" if sluice else ""
        config = Path(folder) / f"config-{bool(sluice)}.yaml"
        config.write_text(f"""
model_list:
  - model_name: small
    litellm_params: {{ model: openai/small, api_base: "http://127.0.0.1:{provider.port}/v1", api_key: none, max_retries: 0 }}
router_settings: {{ num_retries: 0 }}
general_settings: {{ custom_auth: any_key.authenticate }}
{callbacks}
""", encoding="utf-8")  # fmt: skip
        # It looks for modules of its configuration beside it.
        (Path(folder) / "any_key.py").write_text(Path(__file__).with_name("any_key.py").read_text(encoding="utf-8"))
        self.port = free_port()
        environment = os.environ | {
            "PYTHONPATH": f"{PACKAGE}:{folder}", "SLUICE_URL": f"sluice://127.0.0.1:{sluice.resp if sluice else 1}",
            "SLUICE_OUTPUT_TOKENS": "100", "LITELLM_LIMITS": json.dumps(limits or {}), "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "LITELLM_MASTER_KEY": f"sk-{secrets.token_hex(32)}",  # It does not start without one; nobody uses it.
        }  # fmt: skip
        self.log = open(Path(folder) / f"log-{self.port}", "w+", encoding="utf-8")
        command = [sys.executable, "-c", "from litellm import run_server; run_server()", "--config", config, "--host", "127.0.0.1"]
        self.process = subprocess.Popen([*command, "--port", str(self.port)], env=environment, stdout=self.log, stderr=self.log)
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                if http1.request(self.port, "GET", "/health/liveliness").status == 200:
                    return
            except OSError:
                pass
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.close()
                raise AssertionError("litellm does not start:\n" + (Path(folder) / f"log-{self.port}").read_text()[-4000:])
            time.sleep(0.5)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.log.close()

    def call(self, key, words=4, **more):
        body = {"model": "small", "messages": [{"role": "user", "content": "word " * words}], **more}
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        return http1.request(self.port, "POST", "/v1/chat/completions", body, headers, timeout=120)


class LitellmTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        rules = cls.folder / "rules.yaml"
        rules.write_text(RULES, encoding="utf-8")
        cls.provider = cls.enterClassContext(LlmProvider())
        cls.sluice = cls.enterClassContext(Server("--rules", rules))
        cls.proxy = Proxy(cls.folder, cls.provider, cls.sluice)
        cls.addClassCleanup(cls.proxy.close)

    def setUp(self):
        self.key = "sk-" + self.id()
        self.provider.answer_tokens, self.provider.status = 10, 200
        self.provider.calls = self.provider.most_running = self.provider.output_tokens = 0
        self.provider.gate.set()

    def used(self):
        key = hashlib.sha256(self.key.encode()).hexdigest()  # As litellm stores it.
        query = f"/api/v1/rate-limit/remaining?api_key={key}&model=small"
        left = {limit["name"]: limit["remaining"] for limit in self.sluice.request("GET", query).json()["limits"]}
        return {name: BUDGETS[name] - left[name] for name in BUDGETS}

    def wait_for(self, **expected):
        """litellm reports a call after its answer."""
        wait_until(lambda: expected.items() <= self.used().items(), lambda: f"{self.used()} is not {expected}")

    def test_a_call_is_settled_with_its_usage(self):
        response = self.proxy.call(self.key, max_tokens=100)
        self.assertEqual(response.status, 200, response.text)
        self.wait_for(calls=1, output=10, parallel=0, money=4 * 500 + 10 * 2000)

    def test_requests_are_limited(self):
        self.provider.answer_tokens = 1
        statuses = [self.proxy.call(self.key, max_tokens=1).status for _ in range(42)]
        self.assertEqual(statuses, [200] * 40 + [429] * 2)
        self.assertEqual(self.provider.calls, 40)

    def test_fifty_clients_never_exceed_tokens_and_parallel_calls(self):
        self.provider.answer_tokens = 60
        responses = run_in_parallel(lambda _: self.proxy.call(self.key, max_tokens=60), *((i,) for i in range(50)))
        passed = sum(response.status == 200 for response in responses)
        self.assertEqual({response.status for response in responses} - {200, 429}, set())
        self.assertGreater(passed, 0)
        self.assertEqual(self.provider.calls, passed)
        self.assertLessEqual(self.provider.most_running, 4)
        self.assertLessEqual(self.provider.output_tokens, 1000)
        self.wait_for(calls=passed, output=60 * passed, parallel=0)

    def test_a_denial_names_the_limit(self):
        response = self.proxy.call(self.key, max_tokens=1001)
        self.assertEqual(response.status, 429, response.text)
        self.assertIn("COST_EXCEEDS_LIMIT: limit output of rule key", response.text)
        self.assertEqual(set(self.used().values()), {0})

    def test_a_stream_is_settled_with_its_usage(self):
        self.provider.answer_tokens = 30
        response = self.proxy.call(self.key, stream=True, stream_options={"include_usage": True})
        self.assertEqual(response.status, 200)
        self.assertTrue(response.text.rstrip().endswith("data: [DONE]"), response.text[-200:])
        self.wait_for(calls=1, output=30, parallel=0)

    def test_a_failed_call_is_given_back(self):
        self.provider.status = 500
        self.assertEqual(self.proxy.call(self.key).status, 500)
        self.wait_for(calls=0, output=0, parallel=0, money=0)

    def test_a_client_that_is_gone_frees_its_slot(self):
        self.provider.answer_tokens = 50
        self.provider.gate.clear()
        body = json.dumps({"model": "small", "stream": True, "messages": [{"role": "user", "content": "hi"}]})
        client = socket.create_connection(("127.0.0.1", self.proxy.port))
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {self.key}\r\nContent-Type: application/json\r\n"
        client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        self.assertIn(b"200", client.recv(1000))
        self.assertEqual(self.used()["parallel"], 1)
        client.close()
        self.provider.gate.set()
        self.wait_for(calls=1, parallel=0)
        self.assertGreater(self.used()["output"], 0)

    def test_nothing_passes_while_sluice_is_gone(self):
        with Server("--rules", self.folder / "rules.yaml") as sluice:
            proxy = Proxy(self.folder, self.provider, sluice)
            self.addCleanup(proxy.close)
            self.assertEqual(proxy.call(self.key).status, 200)
        response = proxy.call(self.key)
        self.assertEqual(response.status, 503, response.text)
        self.assertEqual(self.provider.calls, 1)

    def test_for_comparison_with_litellms_own_limiter(self):
        """Prints what it lets pass under the same load; it is not judged."""
        proxy = Proxy(self.folder, self.provider, limits={"tpm_limit": 1000, "max_parallel_requests": 4, "rpm_limit": 40})
        self.addCleanup(proxy.close)
        self.provider.answer_tokens = 60
        responses = run_in_parallel(lambda _: proxy.call(self.key, max_tokens=60), *((i,) for i in range(50)))
        passed = sum(response.status == 200 for response in responses)
        print(
            f"litellm's own limiter, 50 clients: {passed} calls, {self.provider.output_tokens} output tokens of 1000 (with"
            f" the prompts), {self.provider.most_running} at once of 4"
        )


if __name__ == "__main__":
    unittest.main()
