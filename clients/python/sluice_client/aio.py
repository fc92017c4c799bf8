"""Checks over HTTP on asyncio's event loop: what `Client` is for threads."""

import asyncio
import collections
import threading

from sluice_client.check import DEADLINE, MAX_REQUEST, TOO_LARGE, Protocol, parse_reply


class LoopState:
    """The connections of one event loop."""

    def __init__(self, max_connections):
        self.idle = collections.deque()
        self.free = asyncio.Semaphore(max_connections)
        self.waiting = 0

    def take_idle(self):
        while self.idle:
            connection = self.idle.pop()
            if not connection.transport.is_closing():
                return connection
        return None


class AsyncClient:
    """As Client, with `await client.check(…)`. At most `max_connections` calls are under way and `max_waiting` wait for
    one of them; further calls fail at once. The deadline includes the waiting. Several event loops may share a client;
    each has connections of its own."""

    def __init__(self, url, *, max_connections=64, max_waiting=1024, **options):
        self._protocol = Protocol(url, **options)
        self._deadline = options.get("deadline", DEADLINE)
        self._max_connections, self._max_waiting = max_connections, max_waiting
        self._states, self._mutex = {}, threading.Lock()

    async def check(self, attributes, cost=1):
        request = self._protocol.request(attributes, cost)
        if len(request) > MAX_REQUEST:
            return TOO_LARGE
        state = self._state()
        try:
            if state.waiting >= self._max_waiting:
                raise ConnectionError("too many calls wait for the rate limiter")
            async with asyncio.timeout(self._deadline):
                return await self._call(state, request)
        except (OSError, ValueError) as error:
            self._protocol.on_error(error)
            return self._protocol.failure

    def _state(self):
        """Of the running event loop."""
        loop = asyncio.get_running_loop()
        with self._mutex:
            if loop not in self._states:
                self._states = {one: state for one, state in self._states.items() if not one.is_closed()}
                self._states[loop] = LoopState(self._max_connections)
            return self._states[loop]

    async def _call(self, state, request):
        state.waiting += 1
        try:
            await state.free.acquire()
        finally:
            state.waiting -= 1
        try:
            connection = state.take_idle() or await self._connect()
            try:
                decision, reusable = await connection.call(request)
            except BaseException:
                connection.transport.abort()
                raise
            if reusable:
                state.idle.append(connection)
            else:
                connection.transport.abort()
            return decision
        finally:
            state.free.release()

    async def _connect(self):
        address = self._protocol.address
        name = address.host if address.tls else None
        _, connection = await asyncio.get_running_loop().create_connection(
            Connection, address.host, address.port, ssl=address.tls, server_hostname=name
        )
        return connection

    async def close(self):
        """Closes idle connections of the running event loop."""
        state = self._state()
        while connection := state.take_idle():
            connection.transport.abort()
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
