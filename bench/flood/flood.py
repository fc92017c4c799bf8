"""How many calls pass over a limit while a flood waits for Redis.

Many connections check, each with a pipeline of calls that is sent again as soon as it is answered. All rules are open:
a call that Redis does not answer within `store_deadline` passes. Starts the server named by SLUICE and a Redis of its
own, and floods it three times:

- one key that is known to be denied: calls that pass;
- as many keys as connections, of each of which nothing is known yet: calls that pass beyond the limit of 5;
- a limit that is never reached, so that every call goes to Redis: calls that `open` answers.

    ./dev bench flood
    ./dev bench flood --connections 200 --pipelined 64 --seconds 5
"""

import argparse
import selectors
import tempfile
import time

from support.files import write_rules
from support.redis_servers import RedisServer
from support.resp import encode
from support.sluice import Server

LIMIT = 5
RULES = f"""
rules:
  - {{id: narrow, match: {{endpoint: /narrow}}, algorithm: fixed_window, limit: {LIMIT}, window: 3600, on_store_failure: open}}
  - {{id: wide, match: {{endpoint: /wide}}, algorithm: fixed_window, limit: 1000000000, window: 3600, on_store_failure: open}}
"""
REPLY, PASSED = b"*8\r\n:", b"*8\r\n:1"


class Counter:
    """Counts a marker in bytes that come in pieces."""

    def __init__(self, marker):
        self.marker = marker
        self.tail = b""
        self.count = 0

    def add(self, piece):
        text = self.tail + piece
        self.count += text.count(self.marker)
        self.tail = text[max(len(text) - len(self.marker) + 1, 0) :]


class Connection:
    """Sends its calls again whenever all of them are answered."""

    def __init__(self, server, pipelined, key, endpoint):
        self.socket = server.connect(server.resp)
        self.socket.setblocking(False)
        self.calls = encode("SLUICE.CHECK", "api_key", key, "endpoint", endpoint) * pipelined
        self.pipelined = pipelined
        self.asked = 0
        self.unsent = b""
        self.replies = Counter(REPLY)
        self.passed = Counter(PASSED)

    def go_on(self):
        """Returns whether it waits to send."""
        try:
            piece = self.socket.recv(1 << 18)
            self.replies.add(piece)
            self.passed.add(piece)
        except BlockingIOError:
            pass
        if self.replies.count == self.asked:
            self.asked += self.pipelined
            self.unsent += self.calls
        try:
            self.unsent = self.unsent[self.socket.send(self.unsent) :] if self.unsent else b""
        except BlockingIOError:
            pass
        return bool(self.unsent)


def flood(server, wanted, keys, endpoint):
    """Returns how many calls were answered, how many of them passed, and how many `open` answered."""
    before = answered_by_open(server)
    all_of_them = [
        Connection(server, wanted.pipelined, keys[i % len(keys)], endpoint) for i in range(wanted.connections)
    ]
    with selectors.DefaultSelector() as selector:
        for connection in all_of_them:
            selector.register(connection.socket, selectors.EVENT_READ | selectors.EVENT_WRITE, connection)
        end = time.monotonic() + wanted.seconds
        while time.monotonic() < end:
            for key, _ in selector.select(0.1):
                events = selectors.EVENT_READ | (selectors.EVENT_WRITE if key.data.go_on() else 0)
                if events != key.events:
                    selector.modify(key.fileobj, events, key.data)
    for connection in all_of_them:
        connection.socket.close()
    return (
        sum(connection.replies.count for connection in all_of_them),
        sum(connection.passed.count for connection in all_of_them),
        answered_by_open(server) - before,
    )


def answered_by_open(server):
    return int(server.metric("rate_limiter_degraded_decisions_total", mode="open"))


def deny(server, key):
    """Uses up a key's limit, so that the server knows that it is denied."""
    for _ in range(LIMIT + 1):
        server.redis_cli("SLUICE.CHECK", "api_key", key, "endpoint", "/narrow")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--connections", type=int, default=200)
    parser.add_argument("--pipelined", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--store-deadline", default="50ms")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, RedisServer() as redis:
        rules = write_rules(folder, RULES)
        with Server("--rules", rules, store=redis.url, store_deadline=wanted.store_deadline) as server:
            deny(server, "denied")
            known = flood(server, wanted, ["denied"], "/narrow")
            fresh = flood(server, wanted, [f"fresh-{i}" for i in range(wanted.connections)], "/narrow")
            wide = flood(server, wanted, ["wide"], "/wide")
    print(f"{wanted.connections} connections x {wanted.pipelined} pipelined, {wanted.seconds:g} s each")
    print(f"{'':30}{'calls':>10}{'over the limit':>16}{'by open':>10}")
    over = max(fresh[1] - LIMIT * wanted.connections, 0)
    for name, calls, passed, late in (
        ("a key known to be denied", known[0], known[1], known[2]),
        ("keys that are not known yet", fresh[0], over, fresh[2]),
        ("a limit that is not reached", wide[0], "", wide[2]),
    ):
        print(f"{name:30}{calls:>10}{passed:>16}{late:>10}")


if __name__ == "__main__":
    main()
