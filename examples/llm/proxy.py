#!/usr/bin/env python3
"""An OpenAI-compatible proxy that reserves tokens and money at Sluice before each call, and settles afterwards.
Needs only Python's standard library.

    python3 proxy.py [port] [address of Sluice] [address of the provider]
"""

import http.client
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT = int(sys.argv[1]) if len(sys.argv) > 1 else 9000
SLUICE = sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1:8080"
PROVIDER = sys.argv[3] if len(sys.argv) > 3 else "127.0.0.1:8000"
OUTPUT_TOKENS = 1000  # Reserved for calls without a bound of their own.
TOKENS_PER_REPORT = 50  # Of a stream.


def sluice(operation, body):
    """Returns the status, the headers and the body of a request to Sluice. 503 if there is no answer: nothing is free."""
    connection = http.client.HTTPConnection(SLUICE, timeout=5)
    try:
        connection.request("POST", "/api/v1/rate-limit/" + operation, json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, response.headers, json.loads(response.read())
    except (OSError, http.client.HTTPException):
        return 503, {}, {"error": {"type": "server_error", "message": "the rate limiter does not answer"}}
    finally:
        connection.close()


def settle(receipt, use, partial=False):
    """Settles what was used, and returns whether a stream must stop. It may be repeated, so one lost answer is harmless."""
    for _ in range(2):
        status, _, answer = sluice("settle", {"receipt": receipt, "use": use, "partial": partial})
        if status != 503:
            break
    return status == 200 and answer.get("stop", False)


def used(usage):
    """What the provider counted. Cached tokens are not among the input tokens."""
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
    return {
        "input_tokens": usage["prompt_tokens"] - cached,
        "cached_tokens": cached,
        "output_tokens": usage["completion_tokens"],
    }


class Proxy(BaseHTTPRequestHandler):
    def do_POST(self):
        call = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        key = self.headers.get("Authorization", "").removeprefix("Bearer ")
        estimate = {
            "input_tokens": len(json.dumps(call.get("messages", []))) // 4,
            "cached_tokens": 0,
            "output_tokens": call.get("max_completion_tokens") or call.get("max_tokens") or OUTPUT_TOKENS,
        }
        attributes = {"api_key": key, "model": call.get("model", "")}
        status, headers, answer = sluice("check", {"attributes": attributes, "use": estimate})
        if status != 200:
            return self.answer(status, headers, json.dumps(answer).encode())
        receipt = answer["receipt"]
        if call.get("stream"):
            call["stream_options"] = {"include_usage": True}
        provider = http.client.HTTPConnection(PROVIDER, timeout=600)
        try:
            provider.request("POST", self.path, json.dumps(call), {"Content-Type": "application/json"})
            response = provider.getresponse()
            if response.status != 200:  # The provider counts no failed calls.
                sluice("cancel", {"receipt": receipt})
                self.answer(response.status, headers, response.read())
            elif call.get("stream"):
                self.stream(response, receipt, headers)
            else:
                body = response.read()
                settle(receipt, used(json.loads(body)["usage"]))
                self.answer(200, headers, body)
        except ConnectionRefusedError:
            sluice("cancel", {"receipt": receipt})
            self.answer(502, headers, b'{"error": {"type": "server_error", "message": "the provider is not there"}}')
        finally:
            provider.close()

    def stream(self, response, receipt, headers):
        """Passes events on. What was used is settled however the stream ends: also if the client is gone."""
        use = {"output_tokens": 0}
        try:
            self.begin(200, headers, "text/event-stream")
            for line in response:
                if line.startswith(b"data: {"):
                    event = json.loads(line[6:])
                    if event.get("usage"):
                        use = used(event["usage"])
                    elif event.get("choices"):
                        use["output_tokens"] += 1
                        if use["output_tokens"] % TOKENS_PER_REPORT == 0 and settle(receipt, use, partial=True):
                            self.wfile.write(b"data: [DONE]\n\n")  # The budget is exhausted.
                            break
                self.wfile.write(line)
        except (OSError, http.client.HTTPException):
            pass
        finally:
            settle(receipt, use)

    def begin(self, status, headers, content_type):
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        for name, value in headers.items():
            if name.lower().startswith(("x-ratelimit-", "retry-after")):
                self.send_header(name, value)
        self.end_headers()

    def answer(self, status, headers, body):
        self.begin(status, headers, "application/json")
        self.wfile.write(body)

    def log_message(self, *_):
        """Logs nothing."""


if __name__ == "__main__":
    ThreadingHTTPServer.request_queue_size = 1024  # Five callers at once, by default, and others are reset.
    server = ThreadingHTTPServer(("127.0.0.1", PORT), Proxy)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
