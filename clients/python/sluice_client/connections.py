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
            raise ValueError(f"expected {plain}://host:port or {encrypted}://host:port, found {url!r}")
        self.host, self.port = parts.hostname, parts.port or port
        self.tls = ssl.create_default_context() if parts.scheme == encrypted else None
        self.password = urllib.parse.unquote(parts.password or "")
        self.query = dict(urllib.parse.parse_qsl(parts.query))
        self.name = f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Pool:
    """Connections for any number of threads. A call takes one; a failed call closes it; nothing is sent twice.

    `greeting` is what a new connection sends first, with the parser of its reply."""

    def __init__(self, address, deadline, max_connections=64, greeting=None):
        self._address, self._deadline, self._max, self._greeting = address, deadline, max_connections, greeting
        self._start()

    def _start(self):
        self._process = os.getpid()
        self._idle = collections.deque()
        self._free = threading.BoundedSemaphore(self._max)

    def call(self, request, parse):
        """Sends the request and returns the parsed reply. Raises Unavailable."""
        if os.getpid() != self._process:
            self._start()  # A forked process must not share its parent's connections.
        end = time.monotonic() + self._deadline
        free = self._free
        if not free.acquire(timeout=self._deadline):
            raise Unavailable(f"all {self._max} connections are in use")
        try:
            return self._call(request, parse, end)
        except (OSError, ValueError) as error:
            raise Unavailable(f"{self._address.name}: {error}") from error
        finally:
            free.release()

    def _call(self, request, parse, end):
        connection = self._take_idle() or self._connect(end)
        reusable = False
        try:
            reply, reusable = exchange(connection, request, parse, end)
            return reply
        finally:
            if reusable:
                self._idle.append(connection)
            else:
                connection.close()

    def _take_idle(self):
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return None
            if not _is_readable(connection):
                return connection
            connection.close()  # Closed by the server, or it sent what nobody asked for.

    def _connect(self, end):
        connection = socket.create_connection((self._address.host, self._address.port), _rest(end))
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
        while self._idle:
            self._idle.pop().close()


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


def _is_readable(connection):
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(0))
