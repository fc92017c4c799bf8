"""Stands between a server and its Redis, and gets in the way as asked."""

import contextlib
import queue
import socket
import threading
import time


class Proxy:
    def __init__(self, port):
        self.target = port
        self.delay = 0.0
        self.links = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection(("127.0.0.1", self.target))
                self.links.append((client, server))
                for source, sink in ((client, server), (server, client)):
                    source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    chunks = queue.Queue()
                    threading.Thread(target=self.receive, args=(source, chunks), daemon=True).start()
                    threading.Thread(target=self.deliver, args=(chunks, sink), daemon=True).start()

    def receive(self, source, chunks):
        with contextlib.suppress(OSError):
            while part := source.recv(65536):
                chunks.put((time.monotonic() + self.delay, part))
        chunks.put((0, b""))

    def deliver(self, chunks, sink):
        with contextlib.suppress(OSError):
            while True:
                due, part = chunks.get()
                if not part:
                    return sink.shutdown(socket.SHUT_RDWR)
                time.sleep(max(0.0, due - time.monotonic()))
                sink.sendall(part)

    def cut_all(self):
        """In the middle of whatever is under way."""
        for link in self.links:
            for end in link:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
        self.links.clear()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
        self.cut_all()
