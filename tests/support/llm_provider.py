"""A provider of language models, for gateways: OpenAI's chat completions, whole and as a stream."""

import http.server
import json
import threading

from support.environment import wait_until


class LlmProvider:
    """Each prompt has as many tokens as words; an answer has as many as `answer_tokens`, or `max_tokens` if that is less."""

    def __init__(self, answer_tokens=10):
        provider = self
        self.answer_tokens = answer_tokens
        self.cached_tokens = 0
        self.status = 200  # Of answers.
        self.gate = threading.Event()  # Streams wait for it after half of their tokens.
        self.gate.set()
        self.calls = self.running = self.most_running = 0
        self.input_tokens = self.output_tokens = self.cut_streams = 0
        self.lock = threading.Lock()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with provider.lock:
                    provider.calls += 1
                    provider.running += 1
                    provider.most_running = max(provider.most_running, provider.running)
                try:
                    self.answer(call)
                finally:
                    with provider.lock:
                        provider.running -= 1

            def answer(self, call):
                if provider.status != 200:
                    return self.send(provider.status, json.dumps({"error": {"message": "overloaded", "type": "server_error"}}))
                prompt = sum(len(str(message["content"]).split()) for message in call["messages"])
                most = call.get("max_completion_tokens") or call.get("max_tokens") or provider.answer_tokens
                tokens = min(provider.answer_tokens, most)
                if call.get("stream"):
                    return self.stream(call, prompt, tokens)
                provider.count(prompt, tokens)
                provider.gate.wait()
                message = {"role": "assistant", "content": " ".join(["word"] * tokens)}
                self.send(200, json.dumps({
                    "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": call["model"],
                    "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                    "usage": provider.usage(prompt, tokens),
                }))  # fmt: skip

            def stream(self, call, prompt, tokens):
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                sent = 0
                try:
                    for i in range(tokens):
                        if i == tokens // 2:
                            provider.gate.wait()
                        self.event(call, [{"index": 0, "delta": {"role": "assistant", "content": "word "}, "finish_reason": None}])
                        sent += 1
                    self.event(call, [{"index": 0, "delta": {}, "finish_reason": "stop"}])
                    if (call.get("stream_options") or {}).get("include_usage"):
                        self.event(call, [], usage=provider.usage(prompt, tokens))
                    self.wfile.write(b"data: [DONE]\n\n")
                except OSError:
                    with provider.lock:
                        provider.cut_streams += 1
                finally:
                    provider.count(prompt, sent)

            def event(self, call, choices, **more):
                event = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": call["model"]}
                self.wfile.write(b"data: " + json.dumps(event | {"choices": choices} | more).encode() + b"\n\n")

            def send(self, status, text):
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_):
                pass

        class HttpServer(http.server.ThreadingHTTPServer):
            request_queue_size = 256
            daemon_threads = True

        self.server = HttpServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))

    def count(self, prompt, tokens):
        with self.lock:
            self.input_tokens += prompt
            self.output_tokens += tokens

    def usage(self, prompt, tokens):
        return {
            "prompt_tokens": prompt, "completion_tokens": tokens, "total_tokens": prompt + tokens,
            "prompt_tokens_details": {"cached_tokens": min(self.cached_tokens, prompt)},
        }  # fmt: skip

    def wait_for_running(self, number):
        wait_until(lambda: self.running == number, lambda: f"{self.running} calls are running")

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.gate.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
