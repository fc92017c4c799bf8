"""Clients for tests of applications: no server, no network.

>>> fake = FakeClient(limit=2)
>>> [fake.check({"api_key": "a"}).status for _ in range(3)]
[200, 200, 429]
"""

from sluice_client.check import Decision


class FakeClient:
    """Passes `limit` calls of each caller (None: all), by `api_key`, else by `ip`; `reset` starts anew. While `decision`
    is set, it is the result of every check. `calls` has the attributes and the cost of all checks."""

    def __init__(self, limit=None):
        self.limit, self.decision = limit, None
        self.reset()

    def reset(self):
        self.calls, self.used = [], {}

    def check(self, attributes, cost=1):
        self.calls.append((dict(attributes), cost))
        if self.decision is not None:
            return self.decision
        if self.limit is None:
            return Decision(True)
        caller = attributes.get("api_key") or attributes.get("ip")
        allowed = self.used.get(caller, 0) + cost <= self.limit
        if allowed:
            self.used[caller] = self.used.get(caller, 0) + cost
        left = self.limit - self.used.get(caller, 0)
        headers = (("X-RateLimit-Limit", str(self.limit)), ("X-RateLimit-Remaining", str(left)))
        if allowed:
            return Decision(True, 200, headers)
        return Decision(False, 429, (*headers, ("Retry-After", "60")), "RATE_LIMIT_EXCEEDED", "Rate limit exceeded")


class FakeAsyncClient(FakeClient):
    async def check(self, attributes, cost=1):
        return super().check(attributes, cost)
