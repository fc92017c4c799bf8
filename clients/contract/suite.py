"""The contract of all adapters: runs the cases of cases.json against applications that use them, and a real server.

    PYTHONPATH=tests SLUICE=build/release/bin/sluice python3 -B clients/contract/suite.py NAME COMMAND...

starts the application of one adapter with COMMAND, several times. README.md says what it must do.
"""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import unittest
import urllib.parse
from pathlib import Path

from support.environment import TIMEOUT, wait_until
from support.sluice import Server

sys.path.insert(0, str(Path(__file__).parent))
from faults import FAULTS, FaultProxy

FOLDER = Path(__file__).parent
CONTRACT = json.loads((FOLDER / "cases.json").read_text(encoding="utf-8"))
ADAPTERS = json.loads((FOLDER / "adapters.json").read_text(encoding="utf-8"))
LIMIT_HEADERS = ("x-ratelimit-limit", "ratelimit-limit", "ratelimit")
# Of functions, where a busy machine must not matter; of faults, where waiting for it takes time.
LONG_DEADLINE_MS, SHORT_DEADLINE_MS = TIMEOUT * 1000, 100


class Response:
    def __init__(self, data):
        head, _, self.body = data.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split(" ")[1])
        self.headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            self.headers.setdefault(name.lower(), value.strip())
        if self.headers.get("transfer-encoding") == "chunked":
            self.body = b"".join(chunks_of(self.body))

    def code(self):
        """The error's code, wherever the framework has put the error."""
        found = json.loads(self.body)
        while isinstance(found, dict) and "code" not in found and found:
            found = next(iter(found.values()))
        return found["code"]

    def __repr__(self):
        return f"{self.status} {self.headers} {self.body[:500]!r}"


def chunks_of(body):
    while True:
        size, _, rest = body.partition(b"\r\n")
        length = int(size, 16)
        if length == 0:
            return
        yield rest[:length]
        body = rest[length + 2 :]


class Application:
    """A process with an adapter in it."""

    def __init__(self, proxy, on_failure, deadline_ms, fake=False):
        target = "" if fake else f"127.0.0.1:{proxy.port}"
        self.process = subprocess.Popen(
            COMMAND,
            stdout=subprocess.PIPE,
            env=os.environ
            | {
                "CONTRACT_ADAPTER": NAME, "CONTRACT_TARGET": target, "CONTRACT_ON_FAILURE": on_failure,
                "CONTRACT_DEADLINE_MS": str(deadline_ms), "CONTRACT_LIMIT": str(CONTRACT["limit"]),
                "CONTRACT_BUSY_LIMIT": str(CONTRACT["busy"]["limit"]),
            },
        )  # fmt: skip
        line = self.process.stdout.readline().decode()
        found = re.fullmatch(r"listening (\d+)\n", line)
        if not found:
            self.close()
            raise AssertionError(f"{COMMAND} does not start: {line!r}")
        self.port = int(found[1])

    async def send(self, path, key=None, raw=False):
        """One request on a connection of its own. `raw`: the key is in the query, as any bytes can be there."""
        headers = ""
        if key is not None and raw:
            path += "?key=" + urllib.parse.quote(key.encode("utf-8", "surrogatepass"), safe="")
        elif key is not None:
            headers = f"X-API-Key: {key}\r\n"
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(f"GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n{headers}\r\n".encode())
            return Response(await reader.read())
        finally:
            writer.close()

    def get(self, path, key=None, raw=False):
        return asyncio.run(asyncio.wait_for(self.send(path, key, raw), TIMEOUT))

    def get_all(self, path, keys):
        async def run():
            async with asyncio.timeout(TIMEOUT):
                return await asyncio.gather(*(self.send(path, key) for key in keys))

        return asyncio.run(run())

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class ContractTest(unittest.TestCase):
    """One server and one proxy for all tests of the adapter; keys keep tests apart."""

    @classmethod
    def setUpClass(cls):
        cls.kind = ADAPTERS[NAME]["kind"]
        cls.server = cls.enterClassContext(Server("--rules", FOLDER / "rules.yaml", "--negative-hits", "on"))
        resp = cls.kind == "counter"
        cls.proxy = FaultProxy("resp" if resp else "http", cls.server.resp if resp else cls.server.http)
        cls.addClassCleanup(cls.proxy.close)
        cls.applications = {}
        cls.addClassCleanup(lambda: [application.close() for application in cls.applications.values()])

    def application(self, on_failure, deadline_ms, fake=False):
        """Started once for each set of options."""
        options = (on_failure, deadline_ms, fake)
        if options not in self.applications:
            self.applications[options] = Application(self.proxy, *options)
        return self.applications[options]

    def setUp(self):
        self.proxy.set(None)
        self.denied = {"check": 503, "counter": 429}[self.kind]

    def run_step(self, application, case, step):
        key = f"{case} {step['key']}"
        for _ in range(step.get("times", 1)):
            response = application.get(step["path"], key)
            self.assertEqual(response.status, step["status"], response)
            for name in step.get("present", ()):
                self.assertIn(name, response.headers, response)
            for name in step.get("absent", ()):
                self.assertNotIn(name, response.headers, response)
            for name, value in step.get("equal", {}).items():
                self.assertEqual(response.headers.get(name), value, response)
            if "text" in step:
                self.assertEqual(response.body.decode(), step["text"])
            if "code" in step:
                self.assertEqual(response.code(), step["code"])

    def test_the_cases(self):
        application = self.application("closed", LONG_DEADLINE_MS)
        for number, case in enumerate(CONTRACT["cases"]):
            if self.kind in case.get("for", (self.kind,)):
                with self.subTest(case["name"]):
                    for step in case["steps"]:
                        self.run_step(application, f"case {number}", step)

    def test_the_fake_limits_without_a_server(self):
        application = self.application("closed", LONG_DEADLINE_MS, fake=True)
        statuses = [application.get("/limited", "fake").status for _ in range(CONTRACT["limit"] + 1)]
        self.assertEqual(statuses, [200] * CONTRACT["limit"] + [429])

    def test_no_key_bypasses_a_limit_or_looks_like_a_failure(self):
        application = self.application("closed", LONG_DEADLINE_MS)
        keys = CONTRACT["hostile_keys"] + ["k" * length for length in CONTRACT["long_keys"]]
        for key in keys:
            with self.subTest(key=key[:40], length=len(key)):
                responses = [application.get("/limited", key, raw=True) for _ in range(CONTRACT["limit"] + 1)]
                for response in responses:
                    self.assertIn(response.status, (200, 400, 429), response)
                    self.assertNotIn("x-injected", response.headers)
                self.assertNotEqual(responses[-1].status, 200, responses[-1])

    def test_concurrent_calls_pass_exactly_as_often_as_the_limit_says(self):
        application = self.application("closed", LONG_DEADLINE_MS)
        busy = CONTRACT["busy"]
        statuses = [response.status for response in application.get_all(busy["path"], ["busy"] * busy["requests"])]
        self.assertEqual((statuses.count(200), statuses.count(429)), (busy["limit"], busy["requests"] - busy["limit"]))

    def check_fault(self, fault, on_failure, spent):
        application = self.application(on_failure, SHORT_DEADLINE_MS)
        wait_until(lambda: application.get("/limited", spent).status == 429, "the limit holds")
        self.proxy.set(fault)
        # A reply of the real server may still be under way to one of the connections.
        expected = 200 if on_failure == "open" else self.denied
        try:
            for _ in range(3):
                response = application.get("/limited", spent)
                self.assertEqual(response.status, expected, response)
                if on_failure == "open" and self.kind == "check":
                    self.assertFalse(set(response.headers) & set(LIMIT_HEADERS), response)
            self.assertEqual(application.get("/exempt").status, 200, "the application itself works")
        finally:
            self.proxy.set(None)
        wait_until(lambda: application.get("/limited", spent).status == 429, "the limit holds again")

    def spend(self, key):
        application = self.application("closed", LONG_DEADLINE_MS)
        for _ in range(CONTRACT["limit"]):
            self.assertEqual(application.get("/limited", key).status, 200)

    def test_every_fault_leads_to_the_failure_mode_and_ends_with_the_fault(self):
        self.spend("spent")
        for fault in FAULTS:
            for on_failure in ("open", "closed"):
                with self.subTest(fault=fault, on_failure=on_failure):
                    self.check_fault(fault, on_failure, "spent")

    def test_a_stopped_server_leads_to_the_failure_mode_until_it_continues(self):
        self.spend("stopped")
        application = self.application("open", SHORT_DEADLINE_MS)
        wait_until(lambda: application.get("/limited", "stopped").status == 429)
        self.server.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.server.process.pid, os.WSTOPPED)
        try:
            for _ in range(3):
                self.assertEqual(application.get("/limited", "stopped").status, 200)
        finally:
            self.server.process.send_signal(signal.SIGCONT)
        wait_until(lambda: application.get("/limited", "stopped").status == 429)

    def test_checks_that_wait_do_not_block_the_application(self):
        application = self.application("open", LONG_DEADLINE_MS)
        self.proxy.set("hang")
        before = self.proxy.failed_requests

        async def run():
            waiting = [asyncio.create_task(application.send("/limited", f"waiting {i}")) for i in range(4)]
            while self.proxy.failed_requests == before:
                await asyncio.sleep(0.01)
            exempt = await application.send("/exempt")
            self.assertFalse(any(task.done() for task in waiting))
            self.proxy.set("refused")
            return exempt, await asyncio.gather(*waiting)

        exempt, decided = asyncio.run(asyncio.wait_for(run(), TIMEOUT / 2))
        self.assertEqual({response.status for response in (exempt, *decided)}, {200})

    def test_a_flood_of_requests_while_the_server_hangs_needs_few_connections(self):
        application = self.application("open", SHORT_DEADLINE_MS)
        self.proxy.set("hang")
        self.proxy.reset_peak()
        count = CONTRACT["flood_of_requests"]
        responses = application.get_all("/limited", [f"flood {i}" for i in range(count)])
        self.assertEqual({response.status for response in responses}, {200})
        self.assertLess(self.proxy.peak, count / 2)
        self.proxy.set(None)
        wait_until(lambda: application.get("/limited", "after the flood").status == 429, "the limit holds again")


if __name__ == "__main__":
    NAME, COMMAND = sys.argv[1], sys.argv[2:]
    unittest.main(argv=[f"{sys.argv[0]} {NAME}"], verbosity=int(os.environ.get("CONTRACT_VERBOSITY", "1")))
