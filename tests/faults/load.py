"""Callers that send checks all the time, and a record of the answers."""

import http.client
import threading
import time

from support import resp
from support.environment import TIMEOUT, wait_until

LIMIT = 100
ROUND = 300  # Calls for one key of each rule, before all go on to the next.

# Every rule has a budget that is used up and never comes back while a test runs.
RULES = f"""
defaults: {{ algorithm: fixed_window, window: 30d, limit: {LIMIT} }}
rules:
  - {{ id: open, match: {{ api_key: "open-*" }} }}
  - {{ id: closed, match: {{ api_key: "closed-*" }}, on_store_failure: closed }}
  - {{ id: local, match: {{ api_key: "local-*" }}, on_store_failure: local }}
"""
MODES = ("open", "closed", "local")
PERMITTED = {  # While degraded.
    "open": (200,),
    "closed": (503,),
    "local": (200, 429),
}


class Call:
    __slots__ = ("began", "took", "mode", "key", "status", "degraded")

    def __init__(self, began, took, mode, key, status, degraded):
        self.began, self.took, self.mode, self.key, self.status, self.degraded = began, took, mode, key, status, degraded

    def is_wrong(self):
        if self.degraded:
            return self.status not in PERMITTED[self.mode]
        return self.status not in (200, 429)


class Load:
    """A few callers at each server, as fast as they are answered but for a short pause."""

    def __init__(self, servers, callers=2, pause=0.002):
        self.servers = servers
        self.pause = pause
        self.stopping = threading.Event()
        self.lock = threading.Lock()
        self.asked = 0
        self.calls = []
        self.failed = []
        self.threads = [
            threading.Thread(target=self.run, args=(server,), daemon=True) for server in servers for _ in range(callers)
        ]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        for thread in self.threads:
            thread.join()
        if self.failed:
            raise self.failed[0]

    def run(self, server):
        connection = http.client.HTTPConnection("127.0.0.1", server.http, timeout=30)
        if server.unix_socket:
            connection.sock = resp.connect(server.unix_socket, TIMEOUT)
        try:
            while not self.stopping.is_set():
                self.calls.append(self.call(connection))
                time.sleep(self.pause)
        except Exception as error:  # pylint: disable=broad-exception-caught  # Raised by __exit__.
            self.failed.append(error)
        finally:
            connection.close()

    def call(self, connection):
        with self.lock:
            number = self.asked
            self.asked += 1
        mode = MODES[number % len(MODES)]
        key = f"{mode}-{number // (ROUND * len(MODES))}"
        began = time.monotonic()
        connection.request("GET", f"/api/v1/rate-limit/check?key={key}")
        answer = connection.getresponse()
        answer.read()
        took = time.monotonic() - began
        return Call(began, took, mode, key, answer.status, answer.getheader("X-RateLimit-Degraded") is not None)

    def degraded_since(self, moment):
        return [call for call in list(self.calls) if call.began >= moment and call.degraded]

    def await_start(self):
        """Returns when Redis decides all calls; forgets the calls until then."""
        wait_until(lambda: len(self.calls) > 300 and not self.degraded_since(time.monotonic() - 0.3), "no call is degraded")
        self.calls.clear()

    def await_degraded(self, moment):
        """Returns when a call was answered without Redis."""
        wait_until(lambda: self.degraded_since(moment), "calls are degraded")

    def await_exact(self, quiet=0.5):
        """Returns when no call was answered without Redis for a while."""
        wait_until(lambda: not self.degraded_since(time.monotonic() - quiet), "no call is degraded")


class Report:
    """What a fault did to the callers."""

    def __init__(self, fault, calls, began, accepted):
        self.fault = fault
        during = [call for call in calls if call.began >= began - 0.2]
        degraded = [call for call in calls if call.degraded]
        self.calls = len(calls)
        self.degraded = len(degraded)
        self.worst = max(call.took for call in during)
        self.wrong = sum(call.is_wrong() for call in calls)
        last = max((call.began for call in degraded), default=accepted)
        self.to_exact = max(0.0, last - accepted)
        admitted = {}
        for call in calls:
            if call.status == 200 and not call.degraded:
                admitted[call.key] = admitted.get(call.key, 0) + 1
        self.twice = sum(max(0, count - LIMIT) for count in admitted.values())
        self.more_files = 0  # That the servers have open than before.
        # Of the last second before the fault: what may not have been replicated.
        self.recent = sum(began - 1 <= call.began < began for call in calls)

    HEAD = f"{'fault':<44}{'calls':>7}{'degraded':>9}{'worst ms':>9}{'wrong':>6}{'twice':>6}{'s to exact':>11}"

    def __str__(self):
        return (
            f"{self.fault:<44}{self.calls:>7}{self.degraded:>9}{self.worst * 1000:>9.1f}{self.wrong:>6}{self.twice:>6}"
            f"{self.to_exact:>11.2f}"
        )
