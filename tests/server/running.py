"""What the tests here share: a server of the binary named by SLUICE, a Redis, and plain sockets."""

import http.client
import os
import re
import resource
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
from pathlib import Path

PATIENCE = 60  # Seconds; a busy machine is no failure.

# A server built with sanitizers is slow: it gets less to do.
SANITIZED = os.environ.get("SLUICE_SANITIZED") == "1"

SKIPPED = 77  # How a test tells ctest that it could not run.


def work(amount):
    return amount // 10 if SANITIZED else amount


class Server:
    """A server on ports of its own; ends with the test, and must end well."""

    def __init__(self, *flags, http_port=0, resp_port=0, unix_socket=None, files=None):
        http_also = f",unix:{unix_socket}" if unix_socket else ""
        self.process = subprocess.Popen(
            [
                os.environ["SLUICE"], "serve", "--threads", "2", "--drain-timeout", "2s",
                "--http", f"127.0.0.1:{http_port}{http_also}", "--resp", f"127.0.0.1:{resp_port}", *flags,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=files and (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))),
        )
        self.ends_with = (0,)
        self.log = []
        self.reader = threading.Thread(target=lambda: self.log.extend(self.process.stderr), daemon=True)
        self.reader.start()
        ports = {}
        for line in self.process.stdout:
            if found := re.match(r"(?:HTTPS?|Redis protocol) +(\w+)://127\.0\.0\.1:(\d+)", line):
                ports[found[1]] = int(found[2])
            if "curl" in line:
                break
        else:
            self.process.wait(PATIENCE)
            self.reader.join(PATIENCE)
            self.process.stdout.close()
            self.process.stderr.close()
            raise AssertionError(f"the server does not start:\n{''.join(self.log)}")
        self.http, self.resp = ports.get("http"), ports.get("redis")
        self.https, self.rediss = ports.get("https"), ports.get("rediss")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """A sanitizer that found something ends the server with another code than 0."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self.reader.join(PATIENCE)
        self.process.stdout.close()
        self.process.stderr.close()
        if code not in self.ends_with:
            raise AssertionError(f"the server ended with {code}:\n{''.join(self.log[-200:])}")

    def ask(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.http, timeout=PATIENCE)
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, dict(answer.getheaders()), text

    def check(self, key):
        return self.ask("GET", f"/api/v1/rate-limit/check?key={key}")

    def metric(self, series):
        """0 if there is no such series."""
        for line in self.ask("GET", "/metrics")[2].splitlines():
            if line.startswith(series + " "):
                return float(line.rsplit(" ", 1)[1])
        return 0

    def redis_cli(self, *command):
        told = subprocess.run(
            ["redis-cli", "-p", str(self.resp), *command], capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        return told.stdout.splitlines()

    def connect(self, port):
        return socket.create_connection(("127.0.0.1", port), PATIENCE)

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


class Redis:
    """A Redis on a port of its own, once it is started; ends with the test."""

    def __init__(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}"
        self.folder = tempfile.TemporaryDirectory()
        self.process = None

    def start(self):
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--save", "", "--dir", self.folder.name],
            stdout=subprocess.DEVNULL,
        )
        ping = ["redis-cli", "-p", str(self.port), "PING"]
        if not until(lambda: b"PONG" in subprocess.run(ping, capture_output=True, check=False).stdout):
            raise AssertionError("redis-server does not answer")

    def cli(self, *command):
        told = subprocess.run(
            ["redis-cli", "-p", str(self.port), *command], capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        return told.stdout.splitlines()

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.kill()
            self.process.wait(PATIENCE)
        self.folder.cleanup()


def until(condition):
    give_up = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > give_up:
            return False
        time.sleep(0.02)
    return True


def write(path, text):
    """Replaces a file by a rename, as editors and deployments do."""
    path.with_suffix(".new").write_text(text, encoding="utf-8")
    path.with_suffix(".new").rename(path)


def rules_in(folder, text):
    path = Path(folder) / "rules.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def receive_all(client):
    """Until the end of the connection, however it ends."""
    told = b""
    try:
        while part := client.recv(65536):
            told += part
    except ConnectionResetError:
        pass
    return told


def receive_until(client, end):
    told = b""
    while not told.endswith(end):
        part = client.recv(65536)
        if not part:
            break
        told += part
    return told


def vanish(client):
    """Ends a connection with a reset, as a machine does that lost its power and came back."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
