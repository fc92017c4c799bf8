"""The binary named by SLUICE: its commands, and servers as processes."""

import functools
import os
import re
import resource
import signal
import socket
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

from support import http1, metrics
from support.environment import TIMEOUT
from support.files import write_rules


def run_sluice(*arguments, **options):
    """The CompletedProcess of a command, with its output as text."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.run(
        [os.environ["SLUICE"], *map(str, arguments)], text=True, timeout=TIMEOUT, check=False, **options
    )


class Server:
    """A server on free ports. Ends with the test, and must exit with one of `exit_codes`.

    `store`: the URL of a Redis, which gets as much time as it needs on a busy machine unless the test says otherwise."""

    def __init__(
        self, *flags, store=None, store_deadline="30s", http_port=0, resp_port=0, grpc_port=0, unix_socket=None, files=None,
        threads=2,
    ):  # fmt: skip
        if store:
            flags = ("--store", store, "--store-deadline", store_deadline, *flags)
        http_also = f",unix:{unix_socket}" if unix_socket else ""
        self.unix_socket = unix_socket
        # Of its own, unless the test names one; created when something is stored.
        self.state = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen(
            [
                os.environ["SLUICE"], "serve", "--threads", str(threads), "--drain-timeout", "2s",
                "--http", f"127.0.0.1:{http_port}{http_also}", "--resp", f"127.0.0.1:{resp_port}",
                "--grpc", f"127.0.0.1:{grpc_port}", *map(str, flags),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"SLUICE_STATE_DIR": str(Path(self.state.name) / "state")},
            preexec_fn=files and (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))),
        )  # fmt: skip
        self.exit_codes = (0,)  # A sanitizer that found something ends the server with another one.
        self.log = []
        self.log_reader = threading.Thread(target=lambda: self.log.extend(self.process.stderr), daemon=True)
        self.log_reader.start()
        ports = {}
        for line in self.process.stdout:
            if found := re.match(r"(HTTPS?|Redis protocol|gRPC|Admin) +(\w+)://127\.0\.0\.1:(\d+)", line):
                ports["admin" if found[1] == "Admin" else found[2]] = int(found[3])
            if "curl" in line:
                break
        else:
            self.wait()
            self.close_pipes()
            raise AssertionError(f"the server does not start:\n{''.join(self.log)}")
        self.http, self.resp = ports.get("http"), ports.get("redis")
        self.https, self.rediss = ports.get("https"), ports.get("rediss")
        self.grpc, self.grpcs = ports.get("grpc"), ports.get("grpcs")
        self.admin = ports.get("admin")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        try:
            code = self.wait()
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.wait()
        self.close_pipes()
        if code not in self.exit_codes:
            raise AssertionError(f"the server exited with {code}:\n{''.join(self.log[-200:])}")

    def close_pipes(self):
        self.state.cleanup()
        self.process.stdout.close()
        self.process.stderr.close()

    def wait(self):
        """Waits until the process has exited and its log is complete. Returns the exit code."""
        code = self.process.wait(TIMEOUT)
        self.log_reader.join(TIMEOUT)
        return code

    def stop(self, number=signal.SIGTERM):
        """Returns the exit code."""
        self.process.send_signal(number)
        return self.wait()

    def kill(self):
        self.exit_codes = (-signal.SIGKILL,)
        self.stop(signal.SIGKILL)

    def log_lines(self, *texts):
        """The lines of the log that contain all of these texts."""
        return [line for line in list(self.log) if all(text in line for text in texts)]

    def request(self, method, path, body=None, headers=()):
        return http1.request(self.http, method, path, body, headers)

    def check(self, key):
        return self.request("GET", f"/api/v1/rate-limit/check?key={key}")

    def metric(self, name, **labels):
        return metrics.total(self.request("GET", "/metrics").text, name, **labels)

    def redis_cli(self, *command):
        completed = subprocess.run(
            ["redis-cli", "-p", str(self.resp), *command], capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
        return completed.stdout.splitlines()

    def connect(self, port):
        return socket.create_connection(("127.0.0.1", port), TIMEOUT)


class ServerTest(unittest.TestCase):
    """A test with a folder and with servers that end with it."""

    @functools.cached_property
    def folder(self):
        return Path(self.enterContext(tempfile.TemporaryDirectory()))

    def serve(self, *flags, rules=None, **options):
        if rules is not None:
            flags = ("--rules", write_rules(self.folder, rules), *flags)
        return self.enterContext(Server(*flags, **options))
