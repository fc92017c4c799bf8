"""A proxy in front of the server that fails in every way that a client may see."""

import asyncio
import contextlib
import socket
import threading

DENIED = b'{"allowed":false,"code":"RATE_LIMIT_EXCEEDED","message":"Rate limit exceeded"}'
ALLOWED = b'{"allowed":true}'


def http(status, body):
    return b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (status, len(body), body)


# What is sent in place of the server's reply, by fault and protocol. None: nothing, ever.
REPLIES = {
    "hang": {"http": None, "resp": None},
    "garbage": {"http": b"\x00\xff" * 500 + b"\r\n\r\n", "resp": b"\x00\xff" * 500 + b"\r\n"},
    "other protocol": {"http": b"*2\r\n:1\r\n:1\r\n\r\n", "resp": http(b"200 OK", ALLOWED)},
    "cut in the middle": {"http": http(b"200 OK", ALLOWED)[:-5], "resp": b"*2\r\n:1"},
    "error": {
        "http": http(b"500 Internal Server Error", b"{}"),
        "resp": b"-ERR storage unavailable: store_timeout\r\n",
    },
    "no decision": {"http": http(b"200 OK", b'{"allowed":"yes"}'), "resp": b"$-1\r\n"},
    "not an object": {"http": http(b"400 Bad Request", b"null"), "resp": b"*1\r\n:1\r\n"},
    "not JSON": {"http": http(b"200 OK", b"{" * 100000), "resp": b"*2\r\n$1\r\nx\r\n$1\r\ny\r\n"},
    "wrong credential": {
        "http": http(b"401 Unauthorized", b'{"code":"UNAUTHORIZED"}'),
        "resp": b"-NOAUTH no token\r\n",
    },
}
# Sent again and again, so that a reply never ends.
ENDLESS = {
    "drip": {"http": (b"HTTP/1.1 200 OK\r\nX-Drip: ", b"a", 0.005), "resp": (b"+", b"a", 0.005)},
    "flood": {"http": (b"HTTP/1.1 200 OK\r\nX-Flood: ", b"a" * 65536, 0), "resp": (b"+", b"a" * 65536, 0)},
    "flood of body": {
        "http": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + b" " * 65536 + b"\r\n", 0),
        "resp": (b"$536870912\r\n", b"a" * 65536, 0),
    },
}
FAULTS = ("refused", *REPLIES, *ENDLESS)
CLOSES = ("cut in the middle",)


class FaultProxy:
    """Relays to a port while `fault` is None. May be told to fail from any thread."""

    def __init__(self, protocol, target):
        self.protocol, self.target, self.fault = protocol, target, None
        self.connections, self.peak, self.failed_requests = set(), 0, 0
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        # Bound from beginning to end, so that no other program gets the port while connections are refused.
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.server = None
        self._run(self._listen())

    def _run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result()

    def set(self, fault):
        self._run(self._set(fault))

    def reset_peak(self):
        self.peak = len(self.connections)

    async def _set(self, fault):
        if fault == "refused":
            self.server.close()
            for task in list(self.connections):
                task.cancel()
            await asyncio.gather(*self.connections, return_exceptions=True)
        elif self.fault == "refused":
            await self._listen()
        self.fault = fault

    async def _listen(self):
        self.server = await asyncio.start_server(
            self._serve, "127.0.0.1", self.port, reuse_port=True, backlog=2048, limit=1 << 20
        )

    async def _serve(self, reader, writer):
        task = asyncio.current_task()
        self.connections.add(task)
        self.peak = max(self.peak, len(self.connections))
        upstream = []
        with contextlib.suppress(OSError, asyncio.CancelledError):
            while request := await reader.read(1 << 16):
                if self.fault is None:
                    await self._relay(request, writer, upstream)
                elif not await self._fail(writer):
                    break
        writer.transport.abort()
        for pump, up in upstream:
            pump.cancel()
            up.transport.abort()
        self.connections.discard(task)

    async def _relay(self, request, writer, upstream):
        if not upstream:
            up_reader, up = await asyncio.open_connection("127.0.0.1", self.target)
            upstream.append((asyncio.create_task(self._pump(up_reader, writer)), up))
        upstream[0][1].write(request)
        await upstream[0][1].drain()

    @staticmethod
    async def _pump(up_reader, writer):
        with contextlib.suppress(OSError):
            while chunk := await up_reader.read(1 << 16):
                writer.write(chunk)
                await writer.drain()
        writer.transport.abort()

    async def _fail(self, writer):
        """False: the connection is to be closed."""
        fault = self.fault
        self.failed_requests += 1
        if fault in ENDLESS:
            start, again, pause = ENDLESS[fault][self.protocol]
            writer.write(start)
            while self.fault == fault and not writer.is_closing():
                writer.write(again)
                await writer.drain()
                await asyncio.sleep(pause)
            return False
        if reply := REPLIES[fault][self.protocol]:
            writer.write(reply)
            await writer.drain()
        return fault not in CLOSES

    def close(self):
        self.set("refused")
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()
        self.socket.close()
