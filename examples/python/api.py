#!/usr/bin/env python3
"""A small API that asks Sluice about every call. Needs only Python's standard library.

    python3 api.py [port] [address of Sluice]
"""

import http.client
import json
import sys
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT = int(sys.argv[1]) if len(sys.argv) > 1 else 9000
SLUICE = sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1:8080"
TIMEOUT_SECONDS = 0.2


def check(attributes):
    """Returns the status of Sluice's decision (200: the call may pass) and its rate limit headers."""
    sluice = http.client.HTTPConnection(SLUICE, timeout=TIMEOUT_SECONDS)
    try:
        sluice.request(
            "POST",
            "/api/v1/rate-limit/check",
            json.dumps({"attributes": attributes, "receipt": False}),
            {"Content-Type": "application/json"},
        )
        response = sluice.getresponse()
        headers = {name: value for name, value in response.getheaders() if name.startswith(("X-RateLimit-", "Retry-After"))}
        return response.status, headers
    except (OSError, http.client.HTTPException):
        return 200, {}  # No answer from Sluice: let the call pass. Return 503 to deny it instead.
    finally:
        sluice.close()


class Api(BaseHTTPRequestHandler):
    def do_GET(self):
        attributes = {"ip": self.client_address[0], "endpoint": urllib.parse.urlsplit(self.path).path, "method": "GET"}
        if "X-API-Key" in self.headers:
            attributes["api_key"] = self.headers["X-API-Key"]
        status, headers = check(attributes)
        if status == 200:
            self.answer(200, headers, {"message": "hello"})
        else:
            self.answer(status, headers, {"error": "rate limit exceeded" if status == 429 else "refused"})

    def answer(self, status, headers, value):
        body = (json.dumps(value) + "\n").encode()
        self.send_response(status)
        for name, text in {**headers, "Content-Type": "application/json", "Content-Length": str(len(body))}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Logs nothing."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", PORT), Api)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
