"""What proxies are put in front of."""

import http.server
import socket
import threading


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Upstream:
    """The API that is protected: tells what arrived."""

    def __init__(self):
        upstream = self
        self.calls = 0

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                upstream.calls += 1
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
                """A proxy that closes a connection is no failure."""

        self.server = Listener(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def end(self):
        self.server.shutdown()
        self.server.server_close()
