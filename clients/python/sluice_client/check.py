"""Checks over HTTP, for any number of threads: `POST /api/v1/rate-limit/check` and what its replies mean."""

import dataclasses
import json
import re
import threading

from sluice_client.connections import Address, Pool, Unavailable

DEADLINE = 0.020
MAX_HEAD, MAX_BODY = 16 * 1024, 1024 * 1024
MAX_TEXT, MAX_DELAY = 1024, 86_400_000
MAX_REQUEST = 64 * 1024  # Larger ones might not arrive within the deadline: callers could cause failures.
# What a response of the application carries on: all styles of docs/http.md, and nothing else that a server may send.
PASSED_ON = re.compile(r"(x-ratelimit-[a-z-]+|ratelimit(-[a-z]+)?|retry-after)", re.IGNORECASE)
PRINTABLE = re.compile(r"[\x20-\x7e]{0,1024}")


@dataclasses.dataclass(frozen=True)
class Decision:
    """Whether a call passes. If not, `status` and `body` are the response; `headers` belong to every response."""

    allowed: bool
    status: int = 200
    headers: tuple = ()
    code: str = ""
    message: str = ""
    denial_id: str = ""
    delay: float = 0.0  # Seconds that a caller of a leaky bucket should wait.
    failed: bool = False  # The server did not decide: `on_failure` did.

    @property
    def error(self):
        error = {"code": self.code, "message": self.message}
        return error | {"denial_id": self.denial_id} if self.denial_id else error

    @property
    def body(self):
        return json.dumps({"error": self.error}).encode()


TOO_LARGE = Decision(False, 400, (), "BODY_TOO_LARGE", "The attributes of the call are too long")


class Protocol:
    """What checks are in HTTP, whoever sends the bytes."""

    def __init__(self, url, *, deadline=DEADLINE, on_failure="open", token="", on_error=None):
        if on_failure not in ("open", "closed"):
            raise ValueError(f"on_failure must be 'open' or 'closed', found {on_failure!r}")
        if not 0 < deadline < threading.TIMEOUT_MAX:
            raise ValueError(f"deadline must be positive seconds, found {deadline!r}")
        if not PRINTABLE.fullmatch(token):
            raise ValueError("token must be printable ASCII")
        self.address = Address(url, "http", "https", 80)
        self.on_error = on_error or (lambda error: None)
        self.failure = (
            Decision(True, failed=True)
            if on_failure == "open"
            else Decision(False, 503, (), "LIMITER_UNAVAILABLE", "The rate limiter is not available", failed=True)
        )
        self._head = (
            "POST /api/v1/rate-limit/check HTTP/1.1\r\n"
            f"Host: {self.address.name}\r\nContent-Type: application/json\r\n"
            # Of the server for its store, so that the rule's failure mode decides and not this client's.
            f"X-Request-Timeout-Ms: {max(1, int(deadline * 750))}\r\n"
            + (f"Authorization: Bearer {token}\r\n" if token else "")
        )

    def request(self, attributes, cost):
        known = {name: str(value) for name, value in attributes.items() if value is not None}
        body = json.dumps({"attributes": known, "cost": cost, "receipt": False}).encode()
        return f"{self._head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def parse_reply(received):
    """The parser of a reply: a Decision. Raises ValueError, also for replies that decide nothing, such as a 500."""
    head_end = received.find(b"\r\n\r\n")
    if head_end < 0:
        if len(received) > MAX_HEAD:
            raise ValueError("the head of the reply is too long")
        return None
    lines = received[:head_end].decode("latin-1").split("\r\n")
    start = re.fullmatch(r"HTTP/1\.1 (\d{3})(?: .*)?", lines[0])
    fields = [tuple(part.strip(" \t") for part in line.split(":", 1)) for line in lines[1:]]
    if not start or any(len(field) != 2 for field in fields):
        raise ValueError("the reply is not HTTP/1.1")
    lengths = {value for name, value in fields if name.lower() == "content-length"}
    if len(lengths) != 1 or not re.fullmatch(r"\d{1,7}", *lengths) or int(*lengths) > MAX_BODY:
        raise ValueError("the reply has no valid Content-Length")
    body = received[head_end + 4 :]
    if len(body) < int(*lengths):
        return None
    if len(body) > int(*lengths):
        raise ValueError("the reply is longer than its Content-Length")
    closes = any(name.lower() == "connection" and value.lower() == "close" for name, value in fields)
    return decide(int(start[1]), fields, body), not closes


def decide(status, fields, body):
    try:
        told = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the body of the reply is not JSON: {error}") from error
    if not isinstance(told, dict):
        raise ValueError("the body of the reply is not a JSON object")
    allowed, delay = told.get("allowed"), told.get("delayMs")
    headers = tuple((n, v) for n, v in fields if PASSED_ON.fullmatch(n) and PRINTABLE.fullmatch(v))
    if allowed is True and status == 200:
        return Decision(True, 200, headers, delay=min(max(delay, 0), MAX_DELAY) / 1000 if isinstance(delay, int) else 0.0)
    # A denial; or an invalid call, such as a key that is too long. What callers can cause must never pass.
    if (allowed is False and 400 <= status < 600) or status == 400:
        code, message, detail, denial_id = (text_of(told.get(n)) for n in ("code", "message", "detail", "denialId"))
        return Decision(False, status, headers, code, message or detail, denial_id)
    raise ValueError(f"the reply decides nothing: status {status}")


def text_of(value):
    """A text that every framework can send, and that is not long."""
    return value[:MAX_TEXT].encode("utf-8", "replace").decode() if isinstance(value, str) else ""


class Client:
    """Checks calls by the rules of a server. Never raises for a server that fails: `on_failure` decides then.

    >>> client = Client("http://127.0.0.1:8080", on_failure="closed")
    >>> client.check({"api_key": "alice", "endpoint": "/search"}).allowed
    """

    def __init__(self, url, *, max_connections=64, **options):
        self._protocol = Protocol(url, **options)
        deadline = options.get("deadline", DEADLINE)
        self._pool = Pool(self._protocol.address, deadline, max_connections)

    def check(self, attributes, cost=1):
        request = self._protocol.request(attributes, cost)
        if len(request) > MAX_REQUEST:
            return TOO_LARGE
        try:
            return self._pool.call(request, parse_reply)
        except Unavailable as error:
            self._protocol.on_error(error)
            return self._protocol.failure

    def close(self):
        self._pool.close()
