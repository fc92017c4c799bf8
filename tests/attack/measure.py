"""What an attack does to the server and to a well-behaved client beside it."""

import http.client
import multiprocessing
import os
import select
import socket
import threading
import time

PROCESSES = multiprocessing.get_context("fork")
PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")


def resident_bytes(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * PAGE


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


class ServerUsage:
    """CPU time and resident memory of a process while the block runs."""

    def __init__(self, pid):
        self.pid = pid
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.sample, daemon=True)
        self.before = self.peak = resident_bytes(pid)
        self.cpu = 0.0

    def sample(self):
        while not self.stopping.wait(0.02):
            self.peak = max(self.peak, resident_bytes(self.pid))

    def __enter__(self):
        self.began, self.cpu_before = time.monotonic(), cpu_seconds(self.pid)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.thread.join()
        self.cpu = (cpu_seconds(self.pid) - self.cpu_before) / (time.monotonic() - self.began)


class GoodClient:
    """A process of its own that sends one request after the other, on a new connection or a kept one."""

    PAUSE = 0.005

    def __init__(self, port, path, reconnect=False):
        self.port, self.path, self.reconnect = port, path, reconnect
        self.latencies, self.failed = [], 0

    def __enter__(self):
        self.receiver, sender = PROCESSES.Pipe(duplex=False)
        self.stop = PROCESSES.Event()
        self.process = PROCESSES.Process(target=self.run, args=(sender,), daemon=True)
        self.process.start()
        sender.close()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.latencies, self.failed = self.receiver.recv()
        self.process.join()

    def run(self, sender):
        latencies, failed, connection = [], 0, None
        while not self.stop.is_set():
            began = time.monotonic()
            try:
                connection = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
                connection.request("GET", self.path)
                response = connection.getresponse()
                response.read()
                failed += response.status >= 500
                if self.reconnect:
                    connection.close()
                    connection = None
            except (OSError, http.client.HTTPException):
                failed += 1
                connection = None
            latencies.append(time.monotonic() - began)
            time.sleep(self.PAUSE)
        if connection:
            connection.close()
        sender.send((latencies, failed))

    def percentile(self, fraction):
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(len(ordered) * fraction))] if ordered else float("nan")


def flood(port, connections, payload, seconds, patterns=()):
    """Sends the payload again and again on all connections, reads all answers; returns how often each pattern came."""
    receiver, sender = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=_flood, args=(port, connections, payload, seconds, patterns, sender), daemon=True)
    process.start()
    sender.close()
    return receiver, process


def result_of(flooding):
    receiver, process = flooding
    counts = receiver.recv()
    process.join()
    return counts


def _flood(port, connections, payload, seconds, patterns, sender):
    counts = [0] * len(patterns)
    poll = select.poll()
    clients = {}
    # Answers are matched in whole reads; what is cut at the end of a read is kept for the next.
    longest = max((len(pattern) for pattern in patterns), default=1)

    def connect():
        client = socket.create_connection(("127.0.0.1", port), 5)
        client.setblocking(False)
        clients[client.fileno()] = [client, 0, b""]
        poll.register(client, select.POLLIN | select.POLLOUT)

    def drop(number):
        poll.unregister(number)
        clients.pop(number)[0].close()

    end = time.monotonic() + seconds
    while time.monotonic() < end:
        while len(clients) < connections and time.monotonic() < end:
            try:
                connect()
            except OSError:
                time.sleep(0.01)
                break
        for number, events in poll.poll(50):
            client = clients[number]
            try:
                if events & select.POLLIN:
                    part = client[0].recv(262144)
                    if not part:
                        drop(number)
                        continue
                    text = client[2] + part
                    for i, pattern in enumerate(patterns):
                        counts[i] += text.count(pattern)
                        counts[i] -= client[2].count(pattern)
                    client[2] = text[-(longest - 1) :] if longest > 1 else b""
                if events & select.POLLOUT:
                    client[1] = (client[1] + client[0].send(payload[client[1] :])) % len(payload)
                elif events & (select.POLLHUP | select.POLLERR):
                    drop(number)
            except BlockingIOError:
                pass
            except OSError:
                drop(number)
    for number in list(clients):
        drop(number)
    sender.send(counts)
