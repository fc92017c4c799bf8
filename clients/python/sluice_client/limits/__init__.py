"""A storage for the package `limits`, and so for slowapi and Flask-Limiter: sluice://127.0.0.1:6380

Import this module once; the scheme is known then. Counters are INCREX of the server's Redis protocol.
"""

import hashlib
import time

from limits.storage import Storage

from sluice_client.check import DEADLINE
from sluice_client.connections import Address, Pool, Unavailable
from sluice_client.resp import ReplyError, encode, parse_greeting, parse_reply

BEYOND_ANY_LIMIT = 2**53
MAX_KEY = 1024
FAILURES = ("raise", "open", "closed")


class SluiceStorage(Storage):
    """Fixed windows on a Sluice server. Options, in the URI (?deadline=0.05) or as arguments: `deadline` in seconds;
    `on_failure`, which is "raise" (the framework decides, as with its option swallow_errors), "open" or "closed"."""

    STORAGE_SCHEME = ["sluice", "sluices"]

    def __init__(self, uri, wrap_exceptions=False, **options):
        super().__init__(uri, wrap_exceptions=wrap_exceptions)
        address = Address(uri, "sluice", "sluices", 6380)
        options = address.query | options
        self._on_failure = options.get("on_failure", "raise")
        if self._on_failure not in FAILURES:
            raise ValueError(f"on_failure must be one of {', '.join(FAILURES)}; found {self._on_failure!r}")
        greeting = (encode("AUTH", address.password), parse_greeting) if address.password else None
        self._pool = Pool(
            address, float(options.get("deadline", DEADLINE)), int(options.get("max_connections", 64)), greeting
        )

    @property
    def base_exceptions(self):
        return Unavailable

    def incr(self, key, expiry, amount=1):
        return self._counted(_count_of, "INCREX", _stored(key), "BYINT", amount, "EX", expiry, "ENX")

    def get(self, key):
        return self._counted(lambda reply: int(reply or 0), "GET", _stored(key))

    def get_expiry(self, key):
        """Unix seconds; now if nothing is counted."""
        try:
            return time.time() + self._call(lambda reply: max(0, reply), "PTTL", _stored(key)) / 1000
        except Unavailable:
            if self._on_failure == "raise":
                raise
            return time.time()

    def check(self):
        try:
            return self._call(bytes, "PING") == b"PONG"
        except Unavailable:
            return False

    def clear(self, key):
        self._call(int, "DEL", _stored(key))

    def reset(self):
        raise NotImplementedError("a server is shared: reset single keys, or use POST /admin/v1/resets")

    def _counted(self, meaning, *words):
        try:
            return self._call(meaning, *words)
        except Unavailable:
            if self._on_failure == "raise":
                raise
            return 0 if self._on_failure == "open" else BEYOND_ANY_LIMIT

    def _call(self, meaning, *words):
        """What a function makes of the reply."""
        reply = self._pool.call(encode(*words), parse_reply)
        if isinstance(reply, ReplyError):
            raise reply
        try:
            return meaning(reply)
        except (TypeError, ValueError) as error:
            raise ReplyError(f"not a reply to {words[0]}: {reply!r}") from error


def _count_of(reply):
    if not isinstance(reply, list) or len(reply) != 2:
        raise ValueError
    return int(reply[0])


def _stored(key):
    """The key's bytes; of a long key, its hash: callers must not get around a limit with a key that is refused."""
    data = key.encode("utf-8", "surrogateescape")
    return data if len(data) <= MAX_KEY else b"sha256:" + hashlib.sha256(data).hexdigest().encode()
