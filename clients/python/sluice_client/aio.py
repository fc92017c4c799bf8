"""Checks over HTTP on asyncio's event loop: what `Client` is for threads."""

import asyncio
import collections

from sluice_client.check import DEADLINE, MAX_REQUEST, TOO_LARGE, Protocol, parse_reply


class AsyncClient:
    """As Client, with `await client.check(…)`. At most `max_connections` calls are under way and `max_waiting` wait for
    one of them; further calls fail at once. The deadline includes the waiting."""

    def __init__(self, url, *, max_connections=64, max_waiting=1024, **options):
        self._protocol = Protocol(url, **options)
        self._deadline = options.get("deadline", DEADLINE)
        self._max_connections, self._max_waiting = max_connections, max_waiting
        self._loop = None

    async def check(self, attributes, cost=1):
        request = self._protocol.request(attributes, cost)
        if len(request) > MAX_REQUEST:
            return TOO_LARGE
        try:
            self._bind()
            if self._waiting >= self._max_waiting:
                raise ConnectionError("too many calls wait for the rate limiter")
            async with asyncio.timeout(self._deadline):
                return await self._call(request)
        except (OSError, ValueError) as error:
            self._protocol.on_error(error)
            return self._protocol.failure

    def _bind(self):
        """Connections belong to one event loop; under another one, such as the next test's, all start anew."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self._waiting = loop, 0
            self._idle = collections.deque()
            self._free = asyncio.Semaphore(self._max_connections)

    async def _call(self, request):
        self._waiting += 1
        try:
            await self._free.acquire()
        finally:
            self._waiting -= 1
        try:
            connection = self._take_idle() or await self._connect()
            try:
                decision, reusable = await connection.call(request)
            except BaseException:
                connection.transport.abort()
                raise
            if reusable:
                self._idle.append(connection)
            else:
                connection.transport.abort()
            return decision
        finally:
            self._free.release()

    def _take_idle(self):
        while self._idle:
            connection = self._idle.pop()
            if not connection.transport.is_closing():
                return connection
        return None

    async def _connect(self):
        address = self._protocol.address
        name = address.host if address.tls else None
        _, connection = await self._loop.create_connection(
            Connection, address.host, address.port, ssl=address.tls, server_hostname=name
        )
        return connection

    async def close(self):
        """Closes idle connections, on the event loop that they belong to."""
        while self._loop is asyncio.get_running_loop() and self._idle:
            self._idle.pop().transport.abort()
        await asyncio.sleep(0)


class Connection(asyncio.Protocol):
    """One call at a time. Closes itself when the server does, or sends bytes that are no reply to a call."""

    reply = None

    def call(self, request):
        self.received = b""
        self.reply = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return self.reply

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        if self.reply is None or self.reply.done():
            self.transport.abort()
            return
        self.received += data
        try:
            if parsed := parse_reply(self.received):
                self.reply.set_result(parsed)
        except ValueError as error:
            self.reply.set_exception(error)

    def connection_lost(self, error):
        if self.reply is not None and not self.reply.done():
            self.reply.set_exception(ConnectionError("the server closed the connection before its reply was complete"))
