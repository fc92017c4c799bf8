"""A receiver of OTLP over HTTP that keeps what it gets, and fails as the test says."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

from support.environment import TIMEOUT


class Request(NamedTuple):
    path: str
    headers: dict
    body: bytes


class Receiver:
    """`answers`: status and headers in place of 200, one for each request. While `hold` is not set, it does not answer."""

    def __init__(self, answers=()):
        self.requests, self.accepted, self.answers = [], [], list(answers)
        self.hold = threading.Event()
        self.hold.set()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                request = Request(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
                receiver.requests.append(request)
                receiver.hold.wait(TIMEOUT)
                status, headers = receiver.answers.pop(0) if receiver.answers else (200, {})
                if status == 200:
                    receiver.accepted.append(request)
                self.send_response(status)
                for name, value in {**headers, "Content-Length": "0"}.items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):  # A client that went away.
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.hold.set()
        self.server.shutdown()
        self.server.server_close()
