"""Connections to a server: a bounded number of them, and calls that end at a deadline whatever the server does.

A reply is read by a parser: a function of all bytes so far that returns None while the reply is incomplete, else the
reply and whether the connection can be used again. It raises ValueError for bytes that are no reply.
"""

import collections
import os
import select
import socket
import ssl
import threading
import time
import urllib.parse

CHUNK = 65536


class Unavailable(Exception):
    """The server gave no valid reply within the deadline."""


class Address:
    """Where a server is, from a URL such as http://127.0.0.1:8080 or sluices://limiter.internal:6380."""

    def __init__(self, url, plain, encrypted, port):
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in (plain, encrypted) or not parts.hostname:
            # Not the whole URL: it may have a password.
            raise ValueError(f"expected {plain}://host:port or {encrypted}://host:port, found {parts.scheme!r}")
        self.host, self.port = parts.hostname, parts.port or port
        self.tls = ssl.create_default_context() if parts.scheme == encrypted else None
        self.password = urllib.parse.unquote(parts.password or "")
        self.query = dict(urllib.parse.parse_qsl(parts.query))
        self.name = f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class PoolState:
    """The connections of one process."""

    def __init__(self, max_connections):
        self.process = os.getpid()
        self.idle = collections.deque()
        self.free = threading.BoundedSemaphore(max_connections)


class Pool:
    """Connections for any number of threads. A call takes one; a failed call closes it; nothing is sent twice.

    `greeting` is what a new connection sends first, with the parser of its reply."""

    def __init__(self, address, deadline, max_connections=64, greeting=None):
        if not 0 < deadline < threading.TIMEOUT_MAX:
            raise ValueError(f"deadline must be positive seconds, found {deadline!r}")
        self._address, self._deadline, self._max, self._greeting = address, deadline, max_connections, greeting
        self._state = PoolState(max_connections)

    def call(self, request, parse):
        """Sends the request and returns the parsed reply. Raises Unavailable."""
        state = self._state
        if os.getpid() != state.process:  # A forked process must not share its parent's connections.
            self._state = state = PoolState(self._max)
        end = time.monotonic() + self._deadline
        if not state.free.acquire(timeout=self._deadline):
            raise Unavailable(f"all {self._max} connections are in use")
        try:
            return self._call(state.idle, request, parse, end)
        except (OSError, ValueError) as error:
            raise Unavailable(f"{self._address.name}: {error}") from error
        finally:
            state.free.release()

    def _call(self, idle, request, parse, end):
        connection = _take(idle) or self._connect(end)
        reusable = False
        try:
            reply, reusable = exchange(connection, request, parse, end)
            return reply
        finally:
            if reusable:
                idle.append(connection)
            else:
                connection.close()

    def _connect(self, end):
        connection = _open(self._address, end)
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._address.tls:
                connection.settimeout(_rest(end))
                connection = self._address.tls.wrap_socket(connection, server_hostname=self._address.host)
            if self._greeting:
                exchange(connection, *self._greeting, end)
            return connection
        except BaseException:
            connection.close()
            raise

    def close(self):
        """Closes idle connections."""
        while connection := _take(self._state.idle):
            connection.close()


def _open(address, end):
    """Tries the addresses of a name in order. Each has only the time that is left, not as much as the one before."""
    failure = OSError("the name has no address")
    for *_, place in socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM):
        try:
            return socket.create_connection(place[:2], _rest(end))
        except OSError as error:
            failure = error
    raise failure


def _take(idle):
    """An idle connection that can be used, or None."""
    while True:
        try:
            connection = idle.pop()
        except IndexError:
            return None
        poll = select.poll()
        poll.register(connection, select.POLLIN)
        if not poll.poll(0):
            return connection
        connection.close()  # Closed by the server, or it sent what nobody asked for.


def exchange(connection, request, parse, end):
    """Returns what the parser returns. Each step has only the time that is left."""
    connection.settimeout(_rest(end))
    connection.sendall(request)
    received = b""
    while True:
        connection.settimeout(_rest(end))
        chunk = connection.recv(CHUNK)
        if not chunk:
            raise ConnectionError("the server closed the connection before its reply was complete")
        received += chunk
        if parsed := parse(received):
            return parsed


def _rest(end):
    rest = end - time.monotonic()
    if rest <= 0:
        raise TimeoutError("no reply within the deadline")
    return rest
