"""A TCP proxy between a server and its Redis, with delays and disconnects."""

import contextlib
import queue
import socket
import threading
import time


class TcpProxy:
    def __init__(self, port):
        self.target = port
        self.delay = 0.0
        self.ends = []
        self.threads = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.start_thread(self.accept)

    def start_thread(self, work, *arguments):
        self.threads.append(threading.Thread(target=work, args=arguments, daemon=True))
        self.threads[-1].start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection(("127.0.0.1", self.target))
                self.ends += [client, server]
                for source, sink in ((client, server), (server, client)):
                    source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    chunks = queue.Queue()
                    self.start_thread(self.receive, source, chunks)
                    self.start_thread(self.deliver, chunks, sink)

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
        """Closes all connections, also in the middle of a message."""
        for end in list(self.ends):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.threads[0].join()
        self.cut_all()
        for thread in self.threads:
            thread.join()
        for end in [self.listener, *self.ends]:
            end.close()
