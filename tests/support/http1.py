"""HTTP/1.1: single requests, pipelined responses, an upstream that reports the requests it received."""

import http.client
import http.server
import json
import threading
from typing import NamedTuple

from support.environment import TIMEOUT


class Response(NamedTuple):
    status: int
    headers: http.client.HTTPMessage  # Names in any case; None for absent ones.
    text: str

    def json(self):
        return json.loads(self.text)


def request(port, method, path, body=None, headers=(), timeout=TIMEOUT):
    """One request on a connection of its own. A body that is no text is sent as JSON; headers: a dict or pairs."""
    if body is not None and not isinstance(body, (str, bytes)):
        body = json.dumps(body)
    if isinstance(body, str):
        body = body.encode()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        headers = list(headers.items() if isinstance(headers, dict) else headers)
        connection.putrequest(method, path, skip_host=any(name.lower() == "host" for name, _ in headers))
        for name, value in headers:
            connection.putheader(name, value)
        if body is not None or method in ("POST", "PUT"):
            connection.putheader("Content-Length", str(len(body or b"")))
        connection.endheaders(body)
        response = connection.getresponse()
        return Response(response.status, response.headers, response.read().decode())
    finally:
        connection.close()


def read_response(stream, head=False):
    """The next response of a pipeline; `head`: to HEAD, which has no body."""
    line = stream.readline()
    if not line:
        raise ConnectionError("closed")
    headers = http.client.HTTPMessage()
    while field := stream.readline().strip():
        name, value = field.decode().split(":", 1)
        headers[name] = value.strip()
    length = 0 if head else int(headers["Content-Length"] or 0)
    return Response(int(line.split()[1]), headers, stream.read(length).decode())


class Upstream:
    """An API behind a proxy. Its answers repeat the request."""

    def __init__(self):
        upstream = self
        self.calls = 0
        self.headers = {}  # Of the last call.

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # Head and body in one segment: Nagle's algorithm would delay the second.

            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                upstream.calls += 1
                upstream.headers = self.headers
                text = f"{self.command} {self.path} {self.headers['X-Forwarded-For']} {body.decode()}".encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = answer

            def log_message(self, *_):
                pass

        class Listener(http.server.ThreadingHTTPServer):
            def handle_error(self, *_):
                """Proxies close connections."""

        self.server = Listener(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
