"""A pipelined connection to Sluice in the Redis protocol: one for each event loop, for any number of calls at once."""

import asyncio
import collections
import os
import urllib.parse

MAX_REPLY = 1 << 20


class Unavailable(Exception):
    """Sluice gave no reply in time. The command may have run."""


class Refused(Exception):
    """Sluice replied with an error: the command was not carried out. `code` is INVALID_RECEIPT, UNKNOWN_QUANTITY, …"""

    def __init__(self, text):
        super().__init__(text)
        words = text.removeprefix("ERR ").split(":", 1)
        self.code = words[0] if words[0].isupper() else "ERR"


class Connection(asyncio.Protocol):
    """Replies are in the order of commands."""

    def __init__(self):
        self.waiting, self.received, self.transport = collections.deque(), b"", None

    def connection_made(self, transport):
        self.transport = transport

    def send(self, words):
        parts = [str(word).encode() for word in words]
        reply = asyncio.get_running_loop().create_future()
        self.waiting.append(reply)
        self.transport.write(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%b\r\n" % (len(part), part) for part in parts))
        return reply

    def data_received(self, data):
        self.received += data
        try:
            while self.received and (found := parse(self.received, 0)):
                self.received = self.received[found[1] :]
                reply = self.waiting.popleft()
                if not reply.done():
                    reply.set_result(found[0])
            if len(self.received) > MAX_REPLY:
                raise ValueError("the reply is too long")
        except (ValueError, IndexError):  # Not a Sluice, or more replies than commands.
            self.transport.abort()

    def connection_lost(self, error):
        while self.waiting:
            reply = self.waiting.popleft()
            if not reply.done():
                reply.set_exception(Unavailable("the connection was closed"))


def parse(data, at):
    """The value at a place and where it ends; None if it is incomplete."""
    end = data.find(b"\r\n", at)
    if end < 0:
        return None
    kind, text, end = data[at : at + 1], data[at + 1 : end], end + 2
    if kind == b"+":
        return text.decode(), end
    if kind == b"-":
        return Refused(text.decode("utf-8", "replace")), end
    if kind == b":":
        return int(text), end
    if kind == b"$":
        size = int(text)
        return None if len(data) < end + size + 2 else (data[end : end + size].decode(), end + size + 2)
    if kind != b"*":
        raise ValueError("the reply is not of the Redis protocol")
    values = []
    for _ in range(int(text)):
        found = parse(data, end)
        if found is None:
            return None
        values.append(found[0])
        end = found[1]
    return values, end


class Client:
    """`url`: sluice://[:token@]host:port. `deadline`: seconds that a command may take, with the connection."""

    def __init__(self, url=None, deadline=1.0):
        parts = urllib.parse.urlsplit(url or os.environ.get("SLUICE_URL", "sluice://127.0.0.1:6380"))
        if parts.scheme != "sluice" or not parts.hostname:
            raise ValueError("expected sluice://host:port")
        self.host, self.port, self.token = parts.hostname, parts.port or 6380, parts.password
        self.deadline = deadline
        self.connections = {}  # By event loop.

    async def call(self, *words):
        """The reply of a command. Raises Unavailable or Refused. Nothing is sent twice."""
        try:
            async with asyncio.timeout(self.deadline):
                reply = await (await self.connection()).send(words)
        except (OSError, TimeoutError) as error:
            raise Unavailable(str(error) or "no reply within the deadline") from error
        if isinstance(reply, Refused):
            raise reply
        return reply

    async def connection(self):
        loop = asyncio.get_running_loop()
        making = self.connections.get(loop)
        if making is None or (making.done() and (making.exception() or making.result().transport.is_closing())):
            self.connections = {one: made for one, made in self.connections.items() if not one.is_closed()}
            making = self.connections[loop] = loop.create_task(self.connect(loop))
        return await asyncio.shield(making)

    async def connect(self, loop):
        async with asyncio.timeout(self.deadline):
            _, connection = await loop.create_connection(Connection, self.host, self.port)
            if self.token and isinstance(refused := await connection.send(("AUTH", self.token)), Refused):
                connection.transport.abort()
                raise OSError(str(refused))
            return connection
